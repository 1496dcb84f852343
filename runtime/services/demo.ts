import { writeFile } from "node:fs/promises";
import { bytesToHex } from "@noble/hashes/utils.js";
import { type Demo, type DemoIds, demoWalk, describeDemo, type Platform } from "../../lib/mod.ts";
import { platformPartition, type Store } from "../../lib/storage/mod.ts";
import { outboxPath } from "./mail.ts";

const secretBytes = 48;

/**
 * Returns the master secret of a demo. The first start stores it with the data, so that later starts and other processes
 * on the same store use it too. For trying out only: anyone who can read the store can read the secret.
 */
export async function demoSecret(store: Store): Promise<string> {
  const partition = platformPartition("demo");
  const made = bytesToHex(crypto.getRandomValues(new Uint8Array(secretBytes)));
  const commit = await store.commit(partition, {
    checks: [{ key: "secret", version: null }],
    writes: [{ type: "put", key: "secret", value: made }],
  });
  if (commit.ok) return made;
  const [stored] = await store.read(partition, [{ type: "record", key: "secret" }]);
  if (stored === null) throw new Error("Cannot read the demo's secret: it vanished between two calls");
  return stored.value;
}

/** Creates the file of the report unless it exists. @throws {Error} It cannot be written. */
export async function requireWritable(path: string): Promise<void> {
  await writeFile(path, "", { flag: "a", mode: 0o600 });
}

export interface DemoReport {
  readonly ids: DemoIds & { readonly isNew: boolean };
  readonly baseUrl: string;
  /** True if mails are kept where developers can read them. */
  readonly hasOutbox: boolean;
  /** A file for the report as JSON, readable by its owner only. */
  readonly file: string | undefined;
}

/** Issues the credentials of the demo, writes them to the file if one is named, and returns the text to print. */
export async function reportDemo(platform: Platform, report: DemoReport): Promise<string> {
  const { ids, baseUrl, hasOutbox, file } = report;
  const demo = await describeDemo(platform, { ids, baseUrl });
  if (file !== undefined) await writeFile(file, `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600 });
  const outbox = hasOutbox ? `\noutbox       ${baseUrl}${outboxPath} (keeps mail for everyone to read)` : "";
  return `${credentials(demo)}${outbox}\n\n${demoWalk(demo)}`;
}

function credentials(demo: Demo): string {
  const { baseUrl, organisationId, spaceId, projectId, eventId, apiKey, operatorToken, clientToken } = demo;
  const lines = [
    `organisation ${organisationId}`,
    `space        ${spaceId}`,
    `project      ${projectId}`,
    `event        ${eventId}`,
  ];
  if (apiKey !== null) lines.push(`API key      ${apiKey.key}`, `API secret   ${apiKey.secret} (shown once)`);
  if (operatorToken !== null) lines.push(`operator     ${operatorToken}`);
  lines.push(`docs         ${baseUrl}/docs`);
  lines.push(`studio       ${baseUrl}/studio?event=${eventId} (sign in with the operator's token)`);
  if (clientToken !== null) lines.push(`client token ${clientToken}`);
  return lines.join("\n");
}
