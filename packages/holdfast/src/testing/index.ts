/**
 * For tests of your own: a Redis inside the process, and a clock to go with it.
 *
 * @module
 */
export type { EmbeddedNodeOptions, ListenOptions } from './embedded-node.ts';
export { EmbeddedNode } from './embedded-node.ts';
export type { NodeAddress } from './listener.ts';
export { ManualClock } from './manual-clock.ts';
export type { NodeSnapshot } from './node-state.ts';
export type { PlainValue } from './plain-value.ts';
