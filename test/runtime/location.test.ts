/** The location check of a whole server: whose address counts, and where countries come from. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { buildDatabase } from "../support/mmdb_writer.ts";
import { type Program, start } from "./processes.ts";
import { cliCommand, runtimes } from "./runtimes.ts";

const folder = mkdtempSync(join(tmpdir(), "grandstand-location-"));
after(() => rmSync(folder, { recursive: true }));

const [runtime = assert.fail()] = runtimes;

const german = "192.0.2.1";
const british = "2001:db8::1";
const database = join(folder, "country.mmdb");
writeFileSync(
  database,
  buildDatabase({
    networks: { "192.0.2.0/24": { country_code: "DE" }, "2001:db8::/32": { country_code: "GB" } },
  }),
);

/** A running demo and its check of the demo's project. */
class Subject {
  readonly #program: Program;
  readonly #url: string;

  constructor(program: Program, url: string) {
    this.#program = program;
    this.#url = url;
  }

  static async start(...args: readonly string[]): Promise<Subject> {
    const demoFile = join(folder, `${randomUUID()}.json`);
    const flags = ["serve", "--demo", "--port", "0", "--demo-file", demoFile, ...args];
    const program = start([...cliCommand(runtime), ...flags]);
    // The demo is printed after its file was written.
    await program.match(/project +\S+/);
    const { baseUrl, projectId } = JSON.parse(readFileSync(demoFile, "utf8"));
    return new Subject(program, `${baseUrl}/v1/locations/projects/${projectId}/check`);
  }

  /** The code of the country, or the reason why there is none. */
  async check(headers: Readonly<Record<string, string>> = {}): Promise<string> {
    const response = await fetch(this.#url, { headers });
    const { data } = (await response.json()) as { data: { country?: { iso_code: string }; reason?: string } };
    assert.equal(response.status, data.reason === undefined ? 200 : 403);
    return data.reason ?? data.country?.iso_code ?? "nothing";
  }

  async stop(): Promise<void> {
    this.#program.signal("SIGTERM");
    assert.equal(await this.#program.ended, 0);
  }
}

describe("locations", () => {
  let direct: Subject;
  let proxied: Subject;
  before(async () => {
    [direct, proxied] = await Promise.all([
      Subject.start("--geoip", database),
      Subject.start("--geoip", database, "--trusted-proxies", "127.0.0.1, 10.0.0.0/8"),
    ]);
  });
  after(() => Promise.all([direct.stop(), proxied.stop()]));

  it("are those of the connection, whatever a client says", async () => {
    const spoofs = ["x-forwarded-for", "x-real-ip", "forwarded", "cf-connecting-ip", "true-client-ip"];
    for (const name of spoofs) {
      const value = name === "forwarded" ? `for=${german}` : german;
      assert.equal(await direct.check({ [name]: value }), "unknown_location", name);
    }
  });

  it("are those before the trusted proxies, read from the right", async () => {
    const cases = {
      [german]: "DE",
      [british]: "GB",
      [`[${british}]:443`]: "GB",
      [`::ffff:${german}`]: "DE",
      [`${german}, 10.1.2.3`]: "DE",
      [`${german}, ${british}`]: "GB",
      [`nonsense, ${british}, 10.1.2.3`]: "GB",
      [`${german}, nonsense`]: "unknown_location",
      [`${german}, 203.0.113.9, 10.1.2.3`]: "unknown_location",
      "": "unknown_location",
    };
    for (const [forwardedFor, expected] of Object.entries(cases)) {
      assert.equal(await proxied.check({ "x-forwarded-for": forwardedFor }), expected, forwardedFor);
    }
    assert.equal(await proxied.check(), "unknown_location");
    assert.equal(await proxied.check({ "x-real-ip": german }), "unknown_location");
  });

  it("need a database that can be used", async () => {
    const broken = join(folder, "broken.mmdb");
    writeFileSync(broken, readFileSync(database).subarray(0, 100));
    const args = ["serve", "--demo", "--port", "0", "--geoip", broken];
    const program = start([...cliCommand(runtime), ...args]);
    assert.equal(await program.ended, 1);
    assert.match(
      program.stderr(),
      /Cannot use .*broken\.mmdb as a country database: it is no MaxMind DB file/,
    );
  });
});
