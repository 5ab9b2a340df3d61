import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis-5';
import { Redis as Iovalkey } from 'iovalkey';
import { describe, expect, it } from 'vitest';
import { commandMaker } from '../../src/clients/ioredis-command.ts';

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

describe('a client of another making', () => {
  it.each([
    [
      'whose method throws',
      {
        evalsha: () => {
          throw new Error('no');
        },
      },
    ],
    ['whose method sends nothing by that way', { evalsha: async () => 1 }],
    [
      'whose commands are of no class',
      {
        evalsha(): unknown {
          return (this as unknown as { sendCommand(command: object): unknown }).sendCommand({});
        },
      },
    ],
    ['whose method rejects', { evalsha: () => Promise.reject(new Error('no')) }],
  ])('%s makes its commands itself', async (_, client) => {
    expect(maker(client)).toBeNull();
  });
});
