/** A holder that is killed after it has made the group for its command, and before the command has begun. */
import { ChildGroup } from '../../src/run/child-group.ts';

const [file = ''] = process.argv.slice(2);
const { pid } = await ChildGroup.prepare(['touch', file], {});
process.stdout.write(`${pid}\n`, () => process.kill(process.pid, 'SIGKILL'));
