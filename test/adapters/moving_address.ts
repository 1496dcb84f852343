/** One address that leads to a server, and to another one later, as a virtual address or a load balancer does. */

import assert from "node:assert/strict";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { AppError } from "../../lib/base/errors/mod.ts";
import { until } from "../support/until.ts";

/** An address whose open connections stay with the server that they were opened to. */
export class MovingAddress implements AsyncDisposable {
  /** Connections that were ever opened. */
  opened = 0;
  /** Changes what the server answers. */
  rewrite: (answer: Buffer) => Buffer = answer => answer;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #target: number;

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer(client => this.#forward(client));
  }

  /** Opens an address of 127.0.0.1 that leads to a port. */
  static async to(port: number): Promise<MovingAddress> {
    const address = new MovingAddress(port);
    await new Promise<void>(resolve => address.#server.listen(0, "127.0.0.1", resolve));
    return address;
  }

  /** The URL of a Redis server. */
  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Leads connections that are opened from now on to another port. */
  moveTo(port: number): void {
    this.#target = port;
  }

  /** Answers every further command of the open connections with an error of Redis of this text. */
  refuseOpen(text: string): void {
    for (const client of this.#sockets) {
      client.removeAllListeners("data");
      let rest = "";
      client.on("data", chunk => {
        const [commands, left] = countCommands(rest + chunk.toString("latin1"));
        rest = left;
        client.write(`-${text}\r\n`.repeat(commands));
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise(resolve => this.#server.close(resolve));
  }

  #forward(client: Socket): void {
    this.opened += 1;
    this.#sockets.add(client);
    const server = connect(this.#target, "127.0.0.1");
    client.on("data", chunk => server.write(chunk));
    server.on("data", chunk => client.write(this.rewrite(chunk)));
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
    client.on("close", () => this.#sockets.delete(client));
  }
}

/** Resolves once a write works, each before it having been refused without an effect. */
export async function recovers(write: () => Promise<unknown>): Promise<void> {
  await until("a write works", () =>
    write().then(
      () => true,
      (error: unknown) => {
        assert.ok(error instanceof AppError && error.code === "storage_unavailable", String(error));
        return false;
      },
    ),
  );
}

/** Returns the number of complete commands in a text of RESP, and what follows them. */
function countCommands(text: string): [commands: number, rest: string] {
  let [count, start] = [0, 0];
  for (;;) {
    const end = endOfCommand(text, start);
    if (end === undefined) return [count, text.slice(start)];
    count += 1;
    start = end;
  }
}

function endOfCommand(text: string, start: number): number | undefined {
  const head = /^\*(\d+)\r\n/.exec(text.slice(start, start + 16));
  if (head === null) return undefined;
  let at = start + head[0].length;
  for (let part = 0; part < Number(head[1]); part++) {
    const size = /^\$(\d+)\r\n/.exec(text.slice(at, at + 16));
    if (size === null) return undefined;
    at += size[0].length + Number(size[1]) + 2;
  }
  return at <= text.length ? at : undefined;
}
