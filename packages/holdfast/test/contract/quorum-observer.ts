/** The test's own connection to several servers, as one: what is done is done on each, what is asked a majority answers. */
import type { Redis } from 'ioredis';

/** What each server says of itself: the words of all of them. */
const JOINED: ReadonlySet<PropertyKey> = new Set(['info', 'client']);

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
        if (answer instanceof Promise) {
          const inOrder = isOrderless(member, args) ? sorted : (one: unknown): unknown => one;
          return Promise.all(answers).then((all) =>
            JOINED.has(member) ? all.join('\n') : oneOf(all.map(inOrder)),
          );
        }
        // A chain of commands, which goes on on each.
        if (typeof answer === 'object' && answer !== null) return every(answers as [object, ...object[]]);
        return answer;
      };
    },
  });
}

/** Each server names its keys and its channels in an order of its own. */
function isOrderless(member: PropertyKey, [verb]: readonly unknown[]): boolean {
  return member === 'keys' || (member === 'pubsub' && verb === 'CHANNELS');
}

function sorted(names: unknown): unknown {
  return Array.isArray(names) ? [...names].sort() : names;
}

/** Times left differ by a little: the middle one. */
function oneOf(answers: readonly unknown[]): unknown {
  const agreed = majorityOf(answers);
  if (agreed !== undefined) return agreed;
  const numbers = answers.filter((answer) => typeof answer === 'number').sort((a, b) => a - b);
  return numbers[Math.floor(answers.length / 2)] ?? answers[0];
}

/** What a majority says, or undefined: any one of the servers may be behind the others by a moment. */
export function majorityOf<Answer>(answers: readonly Answer[]): Answer | undefined {
  const texts = answers.map((answer) => JSON.stringify(answer));
  const isOfMost = (text: string): boolean =>
    texts.filter((other) => other === text).length > answers.length / 2;
  return answers[texts.findIndex(isOfMost)];
}
