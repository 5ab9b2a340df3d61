/** Commands on the connection that sends them (HELLO, SELECT, CLIENT SETNAME), and CLIENT LIST and KILL. */

import { CommandError, notImplemented, syntaxError } from '../../protocol/command-error.ts';
import { integerOf } from '../../protocol/number-text.ts';
import { type NodeReply, OK, Pairs, Status } from '../../protocol/reply.ts';
import type { NodeConnection } from '../../state/connection.ts';
import { ANY, at, type Command, type CommandContext, manages, reads } from '../command.ts';
import { subcommands } from '../subcommands.ts';
import { VERSION } from './information.ts';

const PONG = new Status('PONG');

const NO_PASSWORD =
  'ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?';

function greet({ connection }: CommandContext, args: readonly string[]): NodeReply {
  const protocol =
    args.length > 0
      ? integerOf(at(args, 0), 'ERR Protocol version is not an integer or out of range')
      : connection.protocol;
  if (protocol !== 2 && protocol !== 3) throw new CommandError('NOPROTO unsupported protocol version');
  for (let i = 1; i < args.length; i += 1) {
    const option = at(args, i).toUpperCase();
    if (option === 'AUTH' && i + 2 < args.length) throw new CommandError(NO_PASSWORD);
    if (option !== 'SETNAME' || i + 1 >= args.length) throw syntaxError();
    i += 1;
    setName(connection, at(args, i));
  }
  connection.protocol = protocol;
  const facts: NodeReply[] = ['server', 'redis', 'version', VERSION, 'proto', protocol, 'id', connection.id];
  return new Pairs([...facts, 'mode', 'standalone', 'role', 'master', 'modules', []]);
}

function setName(connection: NodeConnection, name: string): void {
  if (!/^[!-~]*$/.test(name))
    throw new CommandError('ERR Client names cannot contain spaces, newlines or special characters.');
  connection.name = name;
}

function select({ connection, node }: CommandContext, args: readonly string[]): NodeReply {
  const index = integerOf(at(args, 0));
  if (index < 0 || index >= node.databases.length) throw new CommandError('ERR DB index is out of range');
  connection.database = index;
  return OK;
}

function ping({ connection }: CommandContext, args: readonly string[]): NodeReply {
  if (connection.protocol === 2 && connection.isSubscriber) return ['pong', args[0] ?? ''];
  return args[0] ?? PONG;
}

function reset({ connection, node }: CommandContext): NodeReply {
  node.channels.leave(connection);
  Object.assign(connection, { name: '', database: 0, protocol: 2, isMonitor: false, transaction: null });
  return new Status('RESET');
}

function describe(connection: NodeConnection, { node }: CommandContext): string {
  const { id, name, peer, channels, patterns, shardChannels, transaction } = connection;
  const ageS = Math.floor((node.clock.monotonicMs() - connection.openedMs) / 1000);
  const flags = [
    connection.isMonitor ? 'O' : '',
    connection.isSubscriber ? 'P' : '',
    transaction === null ? '' : 'x',
  ];
  const facts = [
    `id=${id} addr=${peer.address} name=${name} age=${ageS} flags=${flags.join('') || 'N'} db=${connection.database}`,
    `sub=${channels.size} psub=${patterns.size} ssub=${shardChannels.size} multi=${transaction?.commands.length ?? -1}`,
    `cmd=${connection.lastCommand} user=default resp=${connection.protocol}`,
    `lib-name=${connection.libraryName} lib-ver=${connection.libraryVersion}`,
  ];
  return `${facts.join(' ')}\n`;
}

/** `CLIENT KILL address`, or `CLIENT KILL` with filters, all of which must match. */
function kill({ node, connection: caller }: CommandContext, args: readonly string[]): NodeReply {
  const isOld = args.length === 1;
  const filters = isOld ? ['ADDR', at(args, 0)] : args;
  if (filters.length % 2 === 1) throw syntaxError();
  let skipsCaller = !isOld;
  let chosen = [...node.connections];
  for (let i = 0; i < filters.length; i += 2) {
    const value = at(filters, i + 1);
    const option = at(filters, i).toUpperCase();
    if (option === 'ID') chosen = chosen.filter(({ id }) => String(id) === value);
    else if (option === 'ADDR') chosen = chosen.filter(({ peer }) => peer.address === value);
    else if (option === 'TYPE')
      chosen = chosen.filter((one) => one.isSubscriber === (value.toLowerCase() === 'pubsub'));
    else if (option === 'SKIPME') skipsCaller = value.toLowerCase() === 'yes';
    else throw notImplemented(`CLIENT KILL ${option}`);
  }
  const victims = chosen.filter((one) => one !== caller || !skipsCaller);
  for (const victim of victims) {
    // The caller still gets the reply to this command.
    if (victim === caller) victim.isLeaving = true;
    else victim.peer.close();
  }
  if (!isOld) return victims.length;
  if (victims.length === 0) throw new CommandError('ERR No such client');
  return OK;
}

const CLIENT: readonly Command[] = [
  manages('id', 0, 0, ({ connection }) => connection.id),
  manages('getname', 0, 0, ({ connection }) => connection.name || null),
  manages('setname', 1, 1, ({ connection }, args) => {
    setName(connection, at(args, 0));
    return OK;
  }),
  manages('setinfo', 2, 2, ({ connection }, args) => {
    const attribute = at(args, 0).toUpperCase();
    if (attribute === 'LIB-NAME') connection.libraryName = at(args, 1);
    else if (attribute === 'LIB-VER') connection.libraryVersion = at(args, 1);
    else throw new CommandError(`ERR Unrecognized option '${at(args, 0)}'`);
    return OK;
  }),
  manages('list', 0, 0, (context) =>
    [...context.node.connections].map((one) => describe(one, context)).join(''),
  ),
  manages('info', 0, 0, (context) => describe(context.connection, context)),
  manages('kill', 1, ANY, kill),
  manages('no-evict', 1, 1, () => OK),
  manages('no-touch', 1, 1, () => OK),
];

export const CONNECTION_COMMANDS: readonly Command[] = [
  reads('ping', 0, 1, ping),
  reads('echo', 1, 1, (_context, args) => at(args, 0)),
  manages('hello', 0, ANY, greet),
  manages('auth', 1, 2, () => {
    throw new CommandError(NO_PASSWORD);
  }),
  manages('select', 1, 1, select),
  manages('reset', 0, 0, reset),
  manages('quit', 0, ANY, ({ connection }) => {
    connection.isLeaving = true;
    return OK;
  }),
  subcommands('client', CLIENT, false),
];
