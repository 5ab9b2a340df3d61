package holdfast.interop;

import java.io.PrintStream;

/** Lines of JSON on standard output. Several callers answer, so a line is written whole. */
final class Answers {
  private final PrintStream output;

  Answers(PrintStream output) {
    this.output = output;
  }

  /** Runs a request and writes its answer. A request that throws is answered with what it threw. */
  void answer(Request request, RequestHandler handler) {
    String id = "{\"id\":" + request.number("id", 0) + ",";
    try {
      say(id + handler.run(request) + "}");
    } catch (Exception error) {
      say(id + "\"error\":\"" + error.toString().replaceAll("[\"\\\\\\p{Cntrl}]", " ") + "\"}");
    }
  }

  synchronized void say(String line) {
    output.println(line);
    output.flush();
  }
}
