/** The script of the guide is enough to read an encrypted export. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { nativeExportKernels } from "../../../../../adapters/native/mod.ts";
import { sealedExport } from "../../../../support/export_files.ts";

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "grandstand-guide-"));
const guide = readFileSync(
  fileURLToPath(new URL("../../../../../lib/fans/exports/README.md", import.meta.url)),
  "utf8",
);
const script = join(folder, "decrypt.mjs");
const file = join(folder, "export.enc");
const out = join(folder, "export");

async function decrypted(bytes: Uint8Array, password: string): Promise<Buffer> {
  writeFileSync(file, bytes);
  rmSync(out, { force: true });
  await run(process.execPath, [script, file, out], { env: { ...process.env, PASSWORD: password } });
  return readFileSync(out);
}

describe("the script of the guide", () => {
  after(() => rmSync(folder, { recursive: true }));
  const code = /^```js\n([\s\S]*?)^```/m.exec(guide)?.[1] ?? assert.fail("the guide has no script");
  writeFileSync(script, code);

  it("needs node:crypto and node:fs alone", () => {
    const imported = [...code.matchAll(/from "([^"]+)"/g)].map(([, name]) => name);
    assert.deepEqual(imported, ["node:crypto", "node:fs"]);
    assert.doesNotMatch(code, /import\(|require\(/);
  });

  it("decrypts files of every implementation", async () => {
    const plain = randomBytes(3_000_001);
    for (const kernels of [{}, nativeExportKernels()]) {
      const sealed = await sealedExport(plain, kernels);
      assert.ok((await decrypted(sealed.file, sealed.password)).equals(plain));
    }
  });

  it("refuses a wrong password and a change in any part", async () => {
    const sealed = await sealedExport(Buffer.from("userId\r\nu1\r\n"));
    await assert.rejects(decrypted(sealed.file, "another"));
    for (const position of [0, 25, 42, 67]) {
      const changed = Uint8Array.from(sealed.file);
      changed[position] = changed[position] === 65 ? 66 : 65;
      await assert.rejects(decrypted(changed, sealed.password), `a change at ${position}`);
    }
  });
});
