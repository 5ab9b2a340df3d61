/** Sends a notice to a webhook and a mail, trusting whom the environment says, and prints what became of both. */
import { send } from '../../../src/alerts/receivers/send.ts';
import { systemClock } from '../../../src/alerts/system-clock.ts';
import { mailReceiver, notice, webReceiver } from '../support/notices.ts';

const [, , web = '', mail = ''] = process.argv;
const around = { clock: systemClock, secrets: [], print: () => {} };
const receivers = [webReceiver(web), mailReceiver(mail)];
const attempts = await Promise.all(receivers.map((receiver) => send(receiver, notice(), around)));
process.stdout.write(`${JSON.stringify({ attempts })}\n`);
