/** What users of the package install: pinned, with digests, under licences that ask for nothing but a notice, running nothing. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { textOf } from "./files.ts";

interface Locked {
  readonly version: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
  readonly deprecated?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

const manifest = JSON.parse(textOf("package.json")) as Required<Locked>;
const { packages } = JSON.parse(textOf("package-lock.json")) as {
  readonly packages: Readonly<Record<string, Locked>>;
};
const licences = [
  "MIT",
  "MIT-0",
  "ISC",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "0BSD",
  "BlueOak-1.0.0",
];

/** Every package that the product loads, optional ones included, with what those need. */
const production = new Map<string, Locked>();
function add(name: string, from: string): void {
  const nested = `${from}/node_modules/${name}`;
  const path = from !== "" && packages[nested] !== undefined ? nested : `node_modules/${name}`;
  const found = packages[path];
  assert.ok(found !== undefined, `${name} is not in the lockfile`);
  if (production.has(path)) return;
  production.set(path, found);
  const { dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = found;
  const peers = Object.keys(peerDependencies).filter(peer => peerDependenciesMeta[peer]?.optional !== true);
  for (const needed of [...Object.keys(dependencies), ...peers]) add(needed, path);
}
for (const name of Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })) add(name, "");

function violations(isKept: (locked: Locked) => boolean): string[] {
  return [...production].filter(([, locked]) => !isKept(locked)).map(([path]) => path);
}

describe("the dependencies of the product", () => {
  it("are few", () => {
    assert.ok(production.size >= Object.keys(manifest.dependencies).length);
    assert.ok(production.size <= 36, `${production.size}: ${[...production.keys()].join(", ")}`);
  });

  it("have one version each, with a digest", () => {
    assert.deepEqual(
      violations(
        ({ version, integrity = "" }) => /^\d+\.\d+\.\d+$/.test(version) && /^sha512-/.test(integrity),
      ),
      [],
    );
  });

  it("have licences that ask for a notice alone", () => {
    assert.deepEqual(
      violations(({ license = "" }) => licences.includes(license)),
      [],
    );
  });

  it("run nothing when they are installed, and are maintained", () => {
    assert.deepEqual(
      violations(({ hasInstallScript, deprecated }) => hasInstallScript !== true && deprecated === undefined),
      [],
    );
  });
});
