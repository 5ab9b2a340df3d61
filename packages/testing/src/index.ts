/**
 * For tests of your own: a Redis inside the process, and a clock to go with it.
 *
 * In this folder: the public exports, and the checks of what they are given. The folders below import only
 * `checks.ts` from here.
 *
 * @module
 */

// The folders, each of which imports only from those above its line:
//   protocol/  replies, errors, numbers and bytes as Redis has them, and both versions of its wire protocol
//   clock/     the machine's clock, and the clock that a test moves
//   lua/       Lua 5.1 with the globals, conversions and error texts of Redis
//   state/     what a node holds: keys, connections, subscriptions, loaded scripts, its time
//   commands/  one file for each family of commands: data/ for keys and values, server/ for everything else
//   node/      the public node, its client inside the process, its TCP port
export { ManualClock } from './clock/manual-clock.ts';
export type { EmbeddedNodeOptions, ListenOptions } from './node/embedded-node.ts';
export { EmbeddedNode } from './node/embedded-node.ts';
export type { NodeAddress } from './node/listener.ts';
export type { PlainValue } from './protocol/plain-value.ts';
export type { NodeSnapshot } from './state/node-state.ts';
