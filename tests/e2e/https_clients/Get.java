// Gets each path of a base URL: Get.java HTTP_1_1|HTTP_2 BASE PATH... Prints a line for each: path, seconds, and what came.
import java.io.IOException;
import java.net.URI;
import java.net.http.*;
import java.util.*;

public class Get {
  public static void main(String[] args) throws Exception {
    var version = HttpClient.Version.valueOf(args[0]);
    var client = HttpClient.newBuilder().version(version).build();
    for (var path : Arrays.copyOfRange(args, 2, args.length)) {
      var begin = System.nanoTime();
      var request = HttpRequest.newBuilder(URI.create(args[1] + path)).build();
      String seen;
      try {
        var answer = client.send(request, HttpResponse.BodyHandlers.ofByteArray());
        if (answer.version() != version) throw new IllegalStateException("spoke " + answer.version());
        var encoding = answer.headers().firstValue("content-encoding").orElse("-");
        seen = answer.statusCode() + " " + encoding + " " + HexFormat.of().formatHex(answer.body());
      } catch (IOException error) {
        seen = "error " + error.getMessage();
      }
      System.out.printf(Locale.ROOT, "%s %.3f %s%n", path, (System.nanoTime() - begin) / 1e9, seen);
    }
  }
}
