package holdfast.interop;

import java.util.Locale;
import org.redisson.api.RedissonClient;

/** What can be ordered. Each order gives the fields of its answer. */
final class Orders {
  private final RedissonClient client;

  Orders(RedissonClient client) {
    this.client = client;
  }

  String run(Order order) throws Exception {
    return switch (order.text("order")) {
      case "take" -> take(order);
      case "free" -> free(order);
      case "contend" -> new Contention(this::guard, order).run();
      case "rounds" -> rounds(order);
      default -> throw new IllegalArgumentException("unknown order " + order.text("order"));
    };
  }

  private Guard guard(Order order) {
    return Guard.of(client, order.text("kind"), order.text("name"));
  }

  private String take(Order order) throws InterruptedException {
    Guard guard = guard(order);
    long fromMs = System.currentTimeMillis();
    boolean isTaken = guard.take(order.number("waitMs", Guard.FOR_EVER), order.number("leaseMs", Guard.RENEWED));
    long atMs = System.currentTimeMillis();
    return String.format(
        Locale.ROOT, "\"taken\":%b,\"fence\":%d,\"fromMs\":%d,\"atMs\":%d", isTaken, guard.fence(), fromMs, atMs);
  }

  private String free(Order order) {
    Guard guard = guard(order);
    long fromMs = System.currentTimeMillis();
    guard.free();
    return String.format(
        Locale.ROOT, "\"freed\":true,\"fromMs\":%d,\"atMs\":%d", fromMs, System.currentTimeMillis());
  }

  /** One caller that takes and frees without a pause: for measuring, without our own pipe in between. */
  private String rounds(Order order) throws InterruptedException {
    Guard guard = guard(order);
    long count = order.number("count");
    long beganNs = System.nanoTime();
    for (long round = 0; round < count; round += 1) {
      guard.take(Guard.FOR_EVER, Guard.RENEWED);
      guard.free();
    }
    double tookMs = (System.nanoTime() - beganNs) / 1e6;
    return String.format(Locale.ROOT, "\"rounds\":%d,\"tookMs\":%.3f", count, tookMs);
  }
}
