// Writes the published schema of the monitor's configuration: `npm run monitor:schema`.
import { writeFileSync } from 'node:fs';
import { configSchema } from '../packages/monitor/src/alerts/config/schema.ts';

const file = new URL('../packages/monitor/schemas/monitor.schema.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(configSchema(), null, 2)}\n`);
