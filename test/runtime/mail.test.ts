/** The mail of a whole server: where a demo keeps it, and how it leaves. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { account, TestSmtpServer } from "../support/smtp.ts";
import { type Program, start } from "./processes.ts";
import { cliCommand, runtimes } from "./runtimes.ts";

const folder = mkdtempSync(join(tmpdir(), "grandstand-mail-"));
after(() => rmSync(folder, { recursive: true }));

const [runtime = assert.fail()] = runtimes;
const secret = "Zm9yIHRlc3RzIG9ubHksIG5vdCBmb3IgYW55IGRlcGxveW1lbnQ";
const email = "fan@example.org";
const oldPassword = "correct horse battery";
const newPassword = "staple correct horse";

interface KeptMail {
  readonly at: number;
  readonly to: string;
  readonly kind: string;
  readonly text: string;
}

/** A running demo with a user of its managed pool. */
class Demo implements AsyncDisposable {
  readonly program: Program;
  readonly url: string;
  readonly #projectId: string;
  readonly #clientToken: string;

  private constructor(program: Program, file: string) {
    const { baseUrl, projectId, clientToken } = JSON.parse(readFileSync(file, "utf8"));
    this.program = program;
    this.url = baseUrl;
    this.#projectId = projectId;
    this.#clientToken = clientToken;
  }

  static async start(environment: Record<string, string> = {}): Promise<Demo> {
    const file = join(folder, `${randomUUID()}.json`);
    const flags = ["serve", "--demo", "--port", "0", "--demo-file", file];
    const program = start([...cliCommand(runtime), ...flags], environment);
    // The demo is printed after its file was written.
    await program.match(/# 1\. /);
    return new Demo(program, file);
  }

  async call(method: string, path: string, data: object): Promise<number> {
    const selector = { projectId: this.#projectId, strategy: "email", provider: "managedPool" };
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: { "content-type": "application/json", authorization: `Bearer ${this.#clientToken}` },
      body: JSON.stringify({ ...selector, data }),
    });
    await response.arrayBuffer();
    return response.status;
  }

  register(): Promise<number> {
    return this.call("POST", "/v1/user", { email, password: oldPassword });
  }

  forgot(): Promise<number> {
    return this.call("PUT", "/v1/user/forgot-password", { email });
  }

  confirm(confirmationCode: string): Promise<number> {
    return this.call("POST", "/v1/user/confirm-forgot-password", {
      email,
      confirmationCode,
      password: newPassword,
    });
  }

  login(password: string): Promise<number> {
    return this.call("PUT", "/v1/user/login", { email, password });
  }

  /** The mails of the outbox, once there are so many. */
  async outbox(count: number): Promise<readonly KeptMail[]> {
    for (;;) {
      const response = await fetch(`${this.url}/_outbox`);
      assert.equal(response.status, 200);
      assert.equal(response.headers.get("cache-control"), "no-store");
      const { mails } = (await response.json()) as { mails: readonly KeptMail[] };
      if (mails.length >= count) return mails;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.program.signal("SIGTERM");
    assert.equal(await this.program.ended, 0, this.program.stderr());
  }
}

describe("mail", () => {
  it("of a demo is in its outbox: with the code from there a user sets a new password", async () => {
    const demo = await Demo.start();
    assert.ok(demo.program.stdout().includes(`\noutbox       ${demo.url}/_outbox (`));
    assert.equal(await demo.register(), 201);
    assert.equal(await demo.forgot(), 200);
    const [mail] = await demo.outbox(1);
    assert.deepEqual([mail?.kind, mail?.to, typeof mail?.at], ["passwordCode", email, "number"]);
    const [code = assert.fail("The mail holds no code")] = /\b\d{8}\b/.exec(mail?.text ?? "") ?? [];
    assert.equal(await demo.confirm(code), 200);
    assert.deepEqual([await demo.login(oldPassword), await demo.login(newPassword)], [401, 200]);
    const kinds = (await demo.outbox(2)).map(({ kind }) => kind);
    assert.deepEqual(kinds, ["passwordChanged", "passwordCode"]);
    await demo[Symbol.asyncDispose]();
    const log = demo.program.stderr();
    assert.match(log, /"level":"info","event":"mail_kept","kind":"passwordCode","path":"\/_outbox"/);
    for (const text of [code, email]) assert.ok(!log.includes(text), text);
  });

  it("leaves through a webhook where one is named", async () => {
    const hook = createServer((request, response) => {
      request.resume();
      response.writeHead(204).end();
      hook.emit("mail", request.headers);
    });
    hook.listen(0, "127.0.0.1");
    await once(hook, "listening");
    const address = hook.address();
    assert.ok(typeof address === "object" && address !== null);
    const demo = await Demo.start({
      GRANDSTAND_MAIL_WEBHOOK: `http://127.0.0.1:${address.port}/`,
      GRANDSTAND_MAIL_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 1).toString("base64")}`,
    });
    const arrival = once(hook, "mail");
    assert.equal(await demo.register(), 201);
    assert.equal(await demo.forgot(), 200);
    const [headers] = await arrival;
    assert.match(headers["webhook-signature"], /^v1,\S{44}$/);
    assert.equal((await fetch(`${demo.url}/_outbox`)).status, 404);
    await demo[Symbol.asyncDispose]();
    hook.closeAllConnections();
    hook.close();
  });

  it("that cannot be sent fails no request, and the log has the reason but not the contents", async () => {
    const gone = await TestSmtpServer.start();
    const url = gone.url();
    await gone[Symbol.asyncDispose]();
    const settings = { GRANDSTAND_SMTP: url, GRANDSTAND_MAIL_FROM: "no-reply@example.org" };
    const demo = await Demo.start(settings);
    assert.equal(await demo.register(), 201);
    assert.equal(await demo.forgot(), 200);
    await demo[Symbol.asyncDispose]();
    const log = demo.program.stderr();
    assert.match(log, /"work":"mail_password_code","reason":"MailError: Cannot send mail: .*ECONNREFUSED/);
    for (const text of [email, account.pass, encodeURIComponent(account.pass)]) {
      assert.ok(!log.includes(text), text);
    }
    assert.doesNotMatch(log, /\b\d{8}\b(?!-)/);
  });

  it("has no outbox outside a demo", async () => {
    const program = start([...cliCommand(runtime), "serve", "--port", "0"], {
      GRANDSTAND_SECRET: secret,
    });
    const [, url] = await program.match(/listens on (\S+)/);
    assert.equal((await fetch(`${url}/_outbox`)).status, 404);
    const document = await (await fetch(`${url}/openapi.json`)).text();
    assert.ok(!document.includes("outbox"));
    program.signal("SIGTERM");
    assert.equal(await program.ended, 0);
  });
});
