/** The clients that the suite runs on: the lowest and the highest supported version of each. */
import type { Flavour } from './caller.ts';
import { GLIDE } from './glide-flavours.ts';
import { IOREDIS } from './ioredis-flavours.ts';
import { NODE_REDIS } from './node-redis-flavours.ts';

export const FLAVOURS: readonly Flavour[] = [...IOREDIS, ...NODE_REDIS, ...GLIDE];
