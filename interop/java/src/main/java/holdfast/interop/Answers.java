package holdfast.interop;

import java.io.PrintStream;

/** Lines of JSON on standard output. Several callers answer, so a line is written whole. */
final class Answers {
  private final PrintStream output;

  Answers(PrintStream output) {
    this.output = output;
  }

  /** Runs an order and writes its answer. An order that throws is answered with what it threw. */
  void answer(Order order, Orders orders) {
    String id = "{\"id\":" + order.number("id", 0) + ",";
    try {
      say(id + orders.run(order) + "}");
    } catch (Exception error) {
      say(id + "\"error\":\"" + error.toString().replaceAll("[\"\\\\\\p{Cntrl}]", " ") + "\"}");
    }
  }

  synchronized void say(String line) {
    output.println(line);
    output.flush();
  }
}
