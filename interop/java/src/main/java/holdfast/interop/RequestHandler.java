package holdfast.interop;

import java.util.Locale;
import org.redisson.api.RedissonClient;

/** Carries out requests. Each gives the fields of its answer. */
final class RequestHandler {
  private final RedissonClient client;

  RequestHandler(RedissonClient client) {
    this.client = client;
  }

  String run(Request request) throws Exception {
    return switch (request.text("request")) {
      case "take" -> take(request);
      case "free" -> free(request);
      case "contend" -> new Contention(this::guard, request).run();
      case "rounds" -> rounds(request);
      default -> throw new IllegalArgumentException("unknown request " + request.text("request"));
    };
  }

  private Guard guard(Request request) {
    return Guard.of(client, request.text("kind"), request.text("name"));
  }

  private String take(Request request) throws InterruptedException {
    Guard guard = guard(request);
    long fromMs = System.currentTimeMillis();
    boolean isTaken = guard.take(request.number("waitMs", Guard.FOR_EVER), request.number("leaseMs", Guard.RENEWED));
    long atMs = System.currentTimeMillis();
    return String.format(
        Locale.ROOT, "\"taken\":%b,\"fence\":%d,\"fromMs\":%d,\"atMs\":%d", isTaken, guard.fence(), fromMs, atMs);
  }

  private String free(Request request) {
    Guard guard = guard(request);
    long fromMs = System.currentTimeMillis();
    guard.free();
    return String.format(
        Locale.ROOT, "\"freed\":true,\"fromMs\":%d,\"atMs\":%d", fromMs, System.currentTimeMillis());
  }

  /** One caller that takes and frees without a pause: for measuring, without our own pipe in between. */
  private String rounds(Request request) throws InterruptedException {
    Guard guard = guard(request);
    long count = request.number("count");
    long beganNs = System.nanoTime();
    for (long round = 0; round < count; round += 1) {
      guard.take(Guard.FOR_EVER, Guard.RENEWED);
      guard.free();
    }
    double tookMs = (System.nanoTime() - beganNs) / 1e6;
    return String.format(Locale.ROOT, "\"rounds\":%d,\"tookMs\":%.3f", count, tookMs);
  }
}
