"""Reports: the data model of a page, and one writer for each format. It imports only `faultkit.base`.

A report is made in two steps. Its owner (`scenario.report`, `chaos.report`, `agents.report`, `mcp.probe`,
`code.review`) knows what has to be reported and builds the values of a format; this package writes them:

| format        | values                            | writer                          |
|---------------|-----------------------------------|---------------------------------|
| HTML          | `page_model.Page`, `timeline.Timeline`, charts from `svg` | `html_page.render_page` |
| JUnit XML     | `junit.JUnitSuite`                | `junit.render_junit_suites`     |
| SARIF         | `sarif.SarifRule`, `SarifResult`  | `sarif.sarif_log`               |
| Markdown      | text                              | `markdown`: escaping and tables |
| plain text    | rows of text                      | `text_table.text_table`         |

No module here knows what a scenario, an experiment or a test suite is.
"""
