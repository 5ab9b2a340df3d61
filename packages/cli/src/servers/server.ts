/** A server that we are connected to. */
import type { Redis } from 'ioredis';

export interface Server {
  /** Its address without user and password. */
  readonly label: string;
  readonly redis: Redis;
}
