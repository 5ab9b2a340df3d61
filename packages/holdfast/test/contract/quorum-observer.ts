/** The test's own connection to several servers, as one: what is done is done on each, what is asked a majority answers. */
import type { Redis } from 'ioredis';

export function quorumObserver(connections: readonly [Redis, ...Redis[]]): Redis {
  return connections.length === 1 ? connections[0] : every(connections);
}

function every<Target extends object>(targets: readonly [Target, ...Target[]]): Target {
  return new Proxy(targets[0], {
    get: (first, member) => {
      if (typeof Reflect.get(first, member) !== 'function') return Reflect.get(first, member);
      return (...args: unknown[]): unknown => {
        const answers = targets.map((target): unknown => {
          const method: unknown = Reflect.get(target, member);
          return typeof method === 'function' ? Reflect.apply(method, target, args) : undefined;
        });
        const [answer] = answers;
        if (answer instanceof Promise) return Promise.all(answers).then(majorityOf);
        // A chain of commands, which goes on on each.
        if (typeof answer === 'object' && answer !== null) return every(answers as [object, ...object[]]);
        return answer;
      };
    },
  });
}

/** One of several servers may be behind the others by a moment. Times left differ by a little: the middle one. */
function majorityOf(answers: readonly unknown[]): unknown {
  const counts = new Map<string, number>();
  for (const text of answers.map((answer) => JSON.stringify(answer))) {
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const agreed = answers.find((answer) => (counts.get(JSON.stringify(answer)) ?? 0) > answers.length / 2);
  if (agreed !== undefined) return agreed;
  const numbers = answers.filter((answer) => typeof answer === 'number').sort((a, b) => a - b);
  return numbers[Math.floor(answers.length / 2)] ?? answers[0];
}
