/** `redis-unreachable` is `HoldfastRedisUnreachable` in Prometheus and Alertmanager. */
export function alertName(rule: string): string {
  const words = rule.split('-').map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return `Holdfast${words.join('')}`;
}
