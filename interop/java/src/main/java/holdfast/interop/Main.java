package holdfast.interop;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * One Redisson client with default settings on the port that the first argument names. It takes requests from standard
 * input, one flat JSON object a line, and answers each with one JSON object that repeats the request's `id`:
 *
 * <pre>
 * {"id":1,"request":"take","kind":"lock","name":"a","waitMs":500,"leaseMs":9000,"caller":0}
 *                                         -> {"id":1,"taken":true,"fence":0,"fromMs":…,"atMs":…}
 * {"id":2,"request":"free","kind":"lock","name":"a","caller":0}         -> {"id":2,"freed":true,"fromMs":…,"atMs":…}
 * {"id":3,"request":"contend","kind":"fenced","name":"a","durationMs":10000,"sectionMs":2,"pauseMs":0,"threads":1,
 *  "journal":"/tmp/j","who":"java-1"}                                   -> {"id":3,"turns":812,"waitsMs":[0.4,…]}
 * {"id":4,"request":"rounds","kind":"lock","name":"a","count":1000}     -> {"id":4,"rounds":1000,"tookMs":412.7}
 * </pre>
 *
 * `kind` is `lock` (RLock) or `fenced` (RFencedLock). Without `waitMs` a take waits for ever; without `leaseMs` the
 * watchdog renews. Times are milliseconds of the wall clock, `fromMs` before the call and `atMs` after it. The first
 * line out is {"ready":true}. The end of standard input ends the process.
 */
public final class Main {
  private Main() {}

  public static void main(String[] arguments) throws Exception {
    Config config = new Config();
    config.useSingleServer().setAddress("redis://127.0.0.1:" + Integer.parseInt(arguments[0]));
    RedissonClient client = Redisson.create(config);
    Answers answers = new Answers(System.out);
    answers.say("{\"ready\":true}");
    answerRequests(new RequestHandler(client), answers);
    // Not `client.shutdown()`, which takes seconds: a test that ends its participants does not wait for them.
    System.exit(0);
  }

  private static void answerRequests(RequestHandler handler, Answers answers) throws Exception {
    Map<Long, Executor> callers = new HashMap<>();
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      Request request = Request.parse(line);
      // Redisson's owner is a thread, so each caller has its own: it frees what it took.
      Executor caller =
          callers.computeIfAbsent(request.number("caller", 0), n -> Executors.newSingleThreadExecutor());
      caller.execute(() -> answers.answer(request, handler));
    }
  }
}
