/** Listeners of the live board: connections that come back, as browsers do. */

import { connect, type Socket } from "node:net";

/** What all listeners heard. */
export class Listeners {
  messages = 0;
  bytes = 0;
  /** Connections that ended and were opened again. */
  reconnects = 0;
  readonly #sockets = new Set<Socket>();
  #isStopped = false;

  /** Number of open streams. */
  get open(): number {
    return this.#sockets.size;
  }

  /** Opens a stream at the port that `choose` names, and again whenever it ends. */
  listen(path: string, choose: () => number): void {
    if (this.#isStopped) return;
    const socket = connect(choose(), "127.0.0.1");
    let retryMs = 1_000;
    socket.write(
      `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\nx-forwarded-for: 10.255.0.1\r\n\r\n`,
    );
    socket.on("data", (chunk: Buffer) => {
      this.#sockets.add(socket);
      this.bytes += chunk.length;
      const text = chunk.toString("latin1");
      for (let at = text.indexOf("data:"); at >= 0; at = text.indexOf("data:", at + 5)) this.messages += 1;
      const named = /retry: ?(\d+)/.exec(text)?.[1];
      if (named !== undefined) retryMs = Number(named);
      // The stream is over: the server keeps the connection for another request.
      if (text.endsWith("\r\n0\r\n\r\n")) socket.destroy();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#sockets.delete(socket);
      if (this.#isStopped) return;
      this.reconnects += 1;
      setTimeout(() => this.listen(path, choose), retryMs);
    });
  }

  stop(): void {
    this.#isStopped = true;
    for (const socket of this.#sockets) socket.destroy();
  }
}
