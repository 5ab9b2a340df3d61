/** The rights that the user of the sampler lacks, and the ACL rule that gives each. docs/operate/acl.md has the whole user. */
import type { Forbidden } from '../../api/types.ts';

const RULES: Readonly<Record<string, readonly [what: string, rule: string]>> = {
  look: ['read locks', '+eval +evalsha +time +type +hlen +hget +hmget +hgetall +hkeys +pttl +strlen +get ~*'],
  survey: ['find locks', '+eval +evalsha +scan +type +hlen +hkeys +strlen +get +pttl ~*'],
  info: ['read the figures of the server', '+info'],
  time: ['read the clock of the server', '+time'],
  cluster: ['find the nodes of the cluster', '+cluster|slots +cluster|info'],
};

export function describeForbidden(server: string, lacking: Iterable<string>): Forbidden[] {
  return [...lacking].flatMap((right) => {
    const [what, aclLine] = RULES[right] ?? [];
    return what === undefined || aclLine === undefined ? [] : [{ server, what, aclLine }];
  });
}
