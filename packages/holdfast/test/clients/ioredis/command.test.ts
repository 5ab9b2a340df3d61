import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis-5';
import { Redis as Iovalkey } from 'iovalkey';
import { describe, expect, it } from 'vitest';
import { commandMaker } from '../../../src/clients/ioredis/command.ts';

const CALL = {
  script: { name: 'test', sha: 'abc', source: 'return 1' },
  keys: ['one', 'two'],
  args: ['3', 'ü', ''],
};

const CLIENTS = [
  { name: 'ioredis 6', client: () => new Redis({ lazyConnect: true }), Command: Redis.Command },
  { name: 'ioredis 5.4', client: () => new Redis5({ lazyConnect: true }), Command: Redis5.Command },
  { name: 'iovalkey', client: () => new Iovalkey({ lazyConnect: true }), Command: Iovalkey.Command },
];

function maker(client: object): ReturnType<typeof commandMaker> {
  return commandMaker(client as Parameters<typeof commandMaker>[0]);
}

describe.each(CLIENTS)('a command for $name', ({ client, Command }) => {
  it('is the one that its own method would have made', () => {
    const ours = maker(client())?.(CALL, false);
    const theirs = new Command('evalsha', ['abc', 2, 'one', 'two', '3', 'ü', ''], { replyEncoding: 'utf8' });
    expect(ours).toBeInstanceOf(Command);
    expect(ours).toMatchObject({ name: 'evalsha', replyEncoding: 'utf8', args: theirs.args });
    expect((ours as typeof theirs).toWritable(client().stream)).toBe(theirs.toWritable(client().stream));
  });

  it('has the text of the script when the server does not know it', () => {
    expect(maker(client())?.(CALL, true)).toMatchObject({
      name: 'eval',
      args: ['return 1', '2', ...CALL.keys, ...CALL.args],
    });
  });

  it('is found out about without a connection, and without a trace on the client', () => {
    const quiet = client();
    maker(quiet);
    expect(quiet.status).toBe('wait');
    expect(Object.hasOwn(quiet, 'sendCommand')).toBe(false);
  });
});

/** As a wrapper that watches a client does it. */
function bound<Client extends object>(client: Client): Client {
  return new Proxy(client, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

describe.each(CLIENTS)('$name in a wrapper', ({ client, Command }) => {
  it('is not made to connect by being looked at', () => {
    const quiet = client();
    expect(maker(bound(quiet))?.(CALL, false)).toBeInstanceOf(Command);
    expect(quiet.status).toBe('wait');
  });
});

describe.each(CLIENTS)('what an application has $name do to arguments', ({ client, Command }) => {
  it('is not done to ours', () => {
    const fail = (): never => {
      throw new Error('expected the arguments of the application');
    };
    Command.setArgumentTransformer('evalsha', fail);
    try {
      const command = maker(client())?.(CALL, false);
      expect(command).toMatchObject({ args: ['abc', '2', ...CALL.keys, ...CALL.args] });
      // Without these the client would throw when the answer comes.
      expect(command).toMatchObject({ resolve: expect.any(Function), reject: expect.any(Function) });
    } finally {
      Command.setArgumentTransformer('evalsha', (args) => args);
    }
  });
});

class Lookalike {
  readonly options = {};

  sendCommand(_command: unknown): Promise<unknown> {
    return Promise.resolve(1);
  }
}

class Throwing extends Lookalike {
  evalsha(): never {
    throw new Error('no');
  }
}

class Rejecting extends Lookalike {
  evalsha(): Promise<never> {
    return Promise.reject(new Error('no'));
  }
}

class Inward extends Lookalike {
  evalsha(): Promise<unknown> {
    return Promise.resolve(1);
  }
}

class Listing extends Lookalike {
  evalsha(...args: readonly string[]): Promise<unknown> {
    return this.sendCommand(['evalsha', ...args]);
  }
}

describe('a client of another making', () => {
  it.each([
    ['whose method throws', new Throwing()],
    ['whose method rejects', new Rejecting()],
    ['whose method sends nothing by that way', new Inward()],
    ['whose commands are lists', new Listing()],
  ])('%s makes its commands itself', (_, client) => {
    expect(maker(client)).toBeNull();
  });
});
