/** Client tokens, as operators issue, list and end them, by routes and by the command line. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { CliError, type CommandSpec } from "../../lib/cli/mod.ts";
import { ids } from "../support/platform.ts";
import { describeOnStores, type OpenStore } from "../support/stores.ts";
import { cliContext, type Given, runCommand } from "../support/terminal.ts";
import { newKey } from "./_operations.ts";
import { Pool } from "./managed_pool/_pool.ts";

const email = "fan@example.com";
const unknownId = "5f0c2e5a-7a31-4b0e-9c1d-2f3a4b5c6d7e";

interface Desk {
  readonly pool: Pool;
  readonly run: (given?: Given) => ReturnType<CommandSpec["run"]>;
}

async function openDesk(open: OpenStore): Promise<Desk> {
  const pool = await Pool.open(open);
  const { key, secret } = await newKey(pool.world);
  const context = cliContext({ fetch: pool.world.platform.fetch, secret, clock: pool.world.clock.now });
  return {
    pool,
    run: ({ args = [ids.project], flags = {} } = {}) =>
      runCommand(context, "projects client-token", { args, flags: { key, ...flags } }),
  };
}

describeOnStores("client tokens", open => {
  it("are issued by command, recover a password, are listed without the token, and end at once", async t => {
    const { pool, run } = await openDesk(open);
    t.after(() => pool.dispose());
    await pool.register(email);
    const { shown, data } = await run({ flags: { name: "App 2.0" } });
    const { id } = data as { id: string };
    const token = String(shown).trimEnd();
    assert.equal((await pool.forgot(email, token)).status, 200);
    await pool.world.platform.idle();
    const [mail] = pool.mails;
    assert.match(mail?.text ?? "", new RegExp(`\\b${mail?.code}\\b`));
    assert.equal((await pool.confirm(email, mail?.code ?? "", { token })).status, 200);

    const listed = await run({ flags: { list: "" } });
    assert.ok(typeof listed.shown === "object");
    assert.deepEqual(
      listed.shown.rows.map(([, name, , , ended]) => [name, ended]),
      [
        ["", ""],
        ["App 2.0", ""],
      ],
    );
    assert.ok(!JSON.stringify(listed.data).includes(token));

    await run({ flags: { end: id } });
    for (const answer of [await pool.forgot(email, token), await pool.confirm(email, "1", { token })]) {
      assert.deepEqual([answer.status, answer.json.data.code], [401, "invalid_token"]);
    }
    assert.equal((await pool.forgot(email)).status, 200, "others work");
    const { data: after } = await run({ flags: { list: "" } });
    assert.ok((after as { endedAt: number | null }[])[1]?.endedAt !== null);
    await run({ flags: { end: id } });
  });

  it("are of projects of the key's organisation, bounded, and ended by their id alone", async t => {
    const { pool, run } = await openDesk(open);
    t.after(() => pool.dispose());
    const refused = async (given: Given): Promise<string> => {
      const error = await Promise.resolve(run(given)).catch((thrown: unknown) => thrown);
      assert.ok(error instanceof CliError, JSON.stringify(error));
      return error.options.code;
    };
    assert.equal(await refused({ args: [ids.otherProject] }), "not_found");
    assert.equal(await refused({ args: [ids.otherProject], flags: { list: "" } }), "not_found");
    assert.equal(await refused({ flags: { end: unknownId } }), "not_found");
    assert.equal(await refused({ flags: { list: "", end: unknownId } }), "wrong_usage");
    for (let count = 1; count < 100; count++) await pool.world.platform.clientTokens.issue(ids.project);
    assert.equal(await refused({}), "limit_reached");
    pool.world.clock.advance(367 * 86_400_000);
    assert.match(String((await run()).shown), /^ey/);
    assert.equal(((await run({ flags: { list: "" } })).data as unknown[]).length, 1);
  });

  it("carry with their mails what a template needs: code, project and the language of the client", async t => {
    const { pool } = await openDesk(open);
    t.after(() => pool.dispose());
    await pool.register(email);
    for (const [language, locale] of [
      ["fr;q=0.5, es-ES, en;q=0.8", "es-ES"],
      ["*", undefined],
      ["en;q=0, <script>", undefined],
    ] as const) {
      pool.mails.length = 0;
      await pool.world.call("/v1/user/forgot-password", {
        method: "PUT",
        body: { projectId: ids.project, strategy: "email", provider: "managedPool", data: { email } },
        token: pool.clientToken,
        headers: { "accept-language": language },
      });
      await pool.world.platform.idle();
      const [mail] = pool.mails;
      assert.match(mail?.code ?? "", /^\d{8}$/);
      assert.deepEqual([mail?.project?.id, mail?.locale], [ids.project, locale]);
      assert.equal("locale" in (mail ?? {}), locale !== undefined);
      const flags = { name: mail?.project?.name ?? "", ...(locale === undefined ? {} : { language: "es" }) };
      const preview = await runCommand(cliContext({}), "mails preview", { args: ["passwordCode"], flags });
      const { subject, text, html } = preview.data as { subject: string; text: string; html: string };
      assert.match(subject, locale === undefined ? /: Your code for a new password$/ : /: Tu código/);
      const sent = [subject, text, html].map(part => part.replaceAll("12345678", mail?.code ?? ""));
      assert.deepEqual([mail?.subject, mail?.text, mail?.html], sent);
    }
  });
});
