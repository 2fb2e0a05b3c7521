// Sets light or dark before anything is drawn, so it is a plain script in the head and not a module.
(() => {
  const ORDER = ["system", "light", "dark"];
  const root = document.documentElement;

  const chosen = () => {
    try {
      const kept = localStorage.getItem("faultkit-theme");
      return ORDER.includes(kept) ? kept : "system";
    } catch {
      return "system"; // a browser that keeps nothing
    }
  };

  const show = (theme) => {
    if (theme === "system") delete root.dataset.theme;
    else root.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (button) {
      button.dataset.shows = theme;
      button.setAttribute("aria-label", `Colours: ${theme}. Press to change.`);
      button.title = `Colours: ${theme}`;
    }
  };

  show(chosen());
  document.addEventListener("DOMContentLoaded", () => {
    show(chosen());
    document.getElementById("theme").addEventListener("click", () => {
      const next = ORDER[(ORDER.indexOf(chosen()) + 1) % ORDER.length];
      try {
        localStorage.setItem("faultkit-theme", next);
      } catch {
        // Without storage, the choice lasts until the page is closed.
      }
      show(next);
    });
  });
})();
