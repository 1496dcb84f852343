/** The export settings of an organisation. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../../../adapters/memory/mod.ts";
import { exportFaults, exportSettings } from "../../../../lib/fans/exports/jobs/settings.ts";
import { ids, openPlatform, seed } from "../../../support/platform.ts";

const organisation = (exports: unknown): Parameters<typeof exportSettings>[0] => ({
  id: ids.organisation,
  name: "Club",
  settings: { exports },
});
const faultsOf = (url: string): ReturnType<typeof exportFaults> =>
  exportFaults({ exports: { webhook: { url } } }, "/organisations/0/settings");

describe("the settings of exports", () => {
  it("name a service by https, or by http on the machine itself and in private networks", () => {
    for (const url of [
      "https://crm.example/exports",
      "https://93.184.215.14/exports",
      "http://localhost:8080/",
      "http://127.0.0.1:8080/",
      "http://[::1]/",
      "http://10.1.2.3/exports",
      "http://172.16.0.1/",
      "http://172.31.0.1/",
      "http://192.168.1.1/",
      "http://100.64.0.1/",
      "http://[fd00::1]/",
    ]) {
      assert.deepEqual(faultsOf(url), [], url);
      assert.equal(exportSettings(organisation({ webhook: { url } })).webhook?.url, url);
    }
  });

  it("name no service by http in public, by a name, or with credentials", () => {
    for (const url of [
      "http://crm.example/exports",
      "http://93.184.215.14/",
      "http://10.crm.example/",
      "http://127.0.0.1.crm.example/",
      "http://localhost.crm.example/",
      "http://172.32.0.1/",
      "http://192.169.0.1/",
      "http://100.128.0.1/",
      "http://169.254.169.254/",
      "http://[2606:2800::1]/",
      "http://[fd::1]/",
      "https://user:password@crm.example/",
      "ftp://crm.example/",
      "crm.example",
    ]) {
      const [fault, ...more] = faultsOf(url);
      assert.equal(fault?.pointer, "/organisations/0/settings/exports/webhook/url", url);
      assert.match(fault.detail, /https/);
      assert.equal(more.length, 0);
      assert.equal(exportSettings(organisation({ webhook: { url } })).webhook, null, url);
    }
  });

  it("name it by an address of bounded length", () => {
    const url = "https://crm.example/".padEnd(2_048, "x");
    assert.equal(faultsOf(url).length, 0);
    assert.equal(faultsOf(`${url}x`).length, 1);
  });

  it("name recipients of at most 254 characters", () => {
    for (const [length, isValid] of [
      [254, true],
      [255, false],
    ] as const) {
      const notify = { email: "@club.example".padStart(length, "a") };
      assert.equal(
        exportSettings(organisation({ notify })).notify?.email,
        isValid ? notify.email : undefined,
      );
    }
  });

  it("still name who is mailed where the service is wrong", () => {
    const notify = { email: "ann@club.example" };
    const read = exportSettings(organisation({ notify, webhook: { url: "http://crm.example/" } }));
    assert.deepEqual(read, { notify, webhook: null });
  });

  it("are reported in the log if they are invalid", async () => {
    const logged: string[] = [];
    const webhook = { url: "http://crm.example/" };
    const world = await openPlatform(async clock => createMemoryStore({ clock }), {
      seed: {
        ...seed,
        organisations: seed.organisations.map(one => ({ ...one, settings: { exports: { webhook } } })),
      },
      logger: {
        enabled: () => true,
        log: (level, event, facts) => void logged.push(JSON.stringify([level, event, facts])),
      },
    });
    const { webhook: used } = await world.platform.exports.settings(ids.organisation);
    await world.dispose();
    assert.equal(used, null);
    const warnings = logged.filter(line => line.includes("export_settings_invalid"));
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? "", /settings\/exports\/webhook\/url: .*https/);
    assert.ok(!warnings[0]?.includes("crm.example"), "an address may hold a secret");
  });

  it("may be left out, and are at fault as something else than an object", () => {
    assert.deepEqual(exportFaults(undefined, ""), []);
    assert.deepEqual(exportFaults({}, ""), []);
    assert.equal(exportFaults({ exports: "https://crm.example" }, "")[0]?.pointer, "/exports");
    assert.deepEqual(exportSettings(organisation(null)), { notify: null, webhook: null });
  });
});
