/**
 * A real SMTP server that can refuse mails for now, refuse them for good, hang, leave, or hang up after it has read one. With
 * a certificate it speaks TLS.
 */
import { SMTPServer } from 'smtp-server';
import { afterAll } from 'vitest';
import { freePort } from '../../../../holdfast/test/support/servers/free-port.ts';

export type MailManner = 'take' | 'later' | 'never' | 'hang' | 'leave' | 'hang-up';

/** TLS from the start (`smtps`), or after STARTTLS. */
export interface MailTls {
  readonly secure: boolean;
  readonly key: string;
  readonly cert: string;
}

const receivers = new Set<MailReceiver>();

export class MailReceiver {
  readonly mails: { readonly text: string; readonly manner: MailManner; readonly isByTls: boolean }[] = [];
  readonly manners: MailManner[] = [];
  /** Decides instead of them. */
  choose: ((text: string) => MailManner) | null = null;
  readonly logins: string[] = [];
  /** Says what was wrong about a login, password and all. */
  refusesLogins = false;
  readonly port: number;
  readonly #tls: MailTls | null;
  #server: SMTPServer | null = null;

  private constructor(port: number, tls: MailTls | null) {
    this.port = port;
    this.#tls = tls;
  }

  static async start(tls: MailTls | null = null): Promise<MailReceiver> {
    const receiver = new MailReceiver(await freePort(), tls);
    receivers.add(receiver);
    await receiver.listen();
    return receiver;
  }

  /** Also after it left: with a new server, because one that was closed takes no mail any more. */
  listen(): Promise<void> {
    const server = this.#makeServer();
    this.#server = server;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.port, '127.0.0.1', () => {
        server.off('error', reject);
        resolve();
      });
    });
  }

  get url(): string {
    return `smtp://127.0.0.1:${this.port}`;
  }

  get taken(): string[] {
    return this.mails.filter(({ manner }) => manner === 'take').map(({ text }) => text);
  }

  async stop(): Promise<void> {
    receivers.delete(this);
    await new Promise<void>((resolve) => (this.#server === null ? resolve() : this.#server.close(resolve)));
  }

  #makeServer(): SMTPServer {
    const server = new SMTPServer({
      authOptional: true,
      allowInsecureAuth: true,
      ...(this.#tls ?? { disabledCommands: ['STARTTLS'] }),
      logger: false,
      closeTimeout: 100,
      onAuth: ({ username = '', password = '' }, _session, done) => {
        this.logins.push(`${username}/${password}`);
        if (this.refusesLogins) done(new Error(`${username} is not let in by ${password}`));
        else done(null, { user: username });
      },
      onData: (stream, session, done) => {
        let text = '';
        stream.on('data', (chunk: Buffer) => {
          text += chunk.toString();
        });
        stream.on('end', () => {
          const manner = this.choose?.(text) ?? this.manners.shift() ?? 'take';
          this.mails.push({ text, manner, isByTls: session.secure });
          if (manner === 'take') done();
          if (manner === 'later' || manner === 'leave')
            done(Object.assign(new Error('try again later'), { responseCode: 451 }));
          // Its connections have a moment to hear the last answer.
          if (manner === 'leave') server.close();
          if (manner === 'never') done(Object.assign(new Error('no such user'), { responseCode: 550 }));
          if (manner === 'hang-up') hangUp(server, session.id);
        });
      },
    });
    server.on('error', () => {});
    return server;
  }
}

function hangUp(server: SMTPServer, id: string): void {
  for (const connection of server.connections as Set<{ id: string; close(): void }>)
    if (connection.id === id) connection.close();
}

export function useMailReceivers(): void {
  afterAll(() => Promise.all([...receivers].map((receiver) => receiver.stop())));
}
