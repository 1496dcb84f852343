/** The manifests for Kubernetes: what their schemas allow, and what they say about each other and about the image. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { parse, parseAllDocuments } from "yaml";

const root = fileURLToPath(new URL("../../", import.meta.url));
const operations = `${root}runtime/operations/`;
const textOf = (file: string): string => readFileSync(operations + file, "utf8");

interface Container {
  readonly args: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly readinessProbe?: { readonly periodSeconds: number };
  readonly volumeMounts: readonly { readonly mountPath: string }[];
}
interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly selector: Readonly<Record<string, unknown>>;
    readonly ports?: readonly { readonly targetPort: string }[];
    readonly template?: {
      readonly metadata: { readonly labels: unknown };
      readonly spec: {
        readonly enableServiceLinks: boolean;
        readonly terminationGracePeriodSeconds: number;
        readonly containers: readonly [Container];
        readonly volumes: readonly { readonly secret: { readonly secretName: string } }[];
      };
    };
  };
}

const kustomization = parse(textOf("kubernetes/kustomization.yaml")) as {
  readonly resources: readonly string[];
  readonly secretGenerator: readonly { readonly name: string; readonly files: readonly string[] }[];
  readonly images: readonly { readonly name: string }[];
};
const manifests = kustomization.resources.flatMap(file =>
  parseAllDocuments(textOf(`kubernetes/${file}`), { version: "1.1" }).map(each => each.toJS() as Manifest),
);
const workloads = manifests.flatMap(({ spec: { selector, template } }) =>
  template === undefined ? [] : [{ selector, ...template }],
);

/** Where the schemas are; null where they are not installed. */
function schemas(): string | null {
  const folder = `${root}test/runtime/node_modules/kubernetes-models/`;
  return existsSync(folder) || process.env.GRANDSTAND_REQUIRE_RUNTIMES === "1" ? folder : null;
}

describe("the manifests for Kubernetes", () => {
  it("are what their schemas allow, without a name that these do not have", {
    skip: schemas() === null,
  }, async t => {
    assert.ok(manifests.length >= 4);
    const lines: string[] = [];
    for (const [index, { kind, ...manifest }] of manifests.entries()) {
      const module = `${schemas()}${manifest.apiVersion}/${kind}.js`;
      const { [kind]: Model } = (await import(module)) as Record<
        string,
        new (
          data: unknown,
        ) => { validate(): void }
      >;
      assert.ok(Model !== undefined, kind);
      new Model(manifest).validate();
      // Schemas let names through that they do not know; types do not.
      lines.push(`import type { I${kind} as M${index} } from "${module}";`);
      lines.push(`export const m${index}: M${index} = ${JSON.stringify({ kind, ...manifest })};`);
    }
    const file = `${root}node_modules/.cache/manifests-${process.pid}.ts`;
    writeFileSync(file, lines.join("\n"));
    t.after(() => rmSync(file));
    const flags = [
      "--ignoreConfig",
      "--noEmit",
      "--strict",
      "--skipLibCheck",
      "--types",
      "",
      "--module",
      "nodenext",
    ];
    const { stdout } = spawnSync(
      process.execPath,
      [`${root}node_modules/typescript/bin/tsc`, ...flags, file],
      {
        encoding: "utf8",
      },
    );
    assert.equal(stdout, "");
  });

  it("select the pods that they make, and name ports, secret and image that are there", () => {
    const ports = workloads[0]?.spec.containers[0].ports.map(({ name }) => name) ?? [];
    const labels = workloads.map(each => each.metadata.labels);
    for (const { kind, spec } of manifests) {
      const selected = kind === "Service" ? spec.selector : spec.selector.matchLabels;
      assert.ok(
        labels.some(each => JSON.stringify(each) === JSON.stringify(selected)),
        kind,
      );
      for (const { targetPort } of spec.ports ?? []) assert.ok(ports.includes(targetPort), targetPort);
    }
    const [secret] = kustomization.secretGenerator;
    assert.deepEqual(secret?.files, ["grandstand.env"]);
    assert.deepEqual(
      kustomization.images.map(({ name }) => name),
      ["grandstand"],
    );
    for (const { spec } of workloads) {
      assert.equal(spec.volumes[0]?.secret.secretName, secret?.name);
      // Kubernetes would set GRANDSTAND_PORT to an address for the service of that name.
      assert.equal(spec.enableServiceLinks, false);
    }
  });

  it("start what the compose file starts, with the ports of the image", () => {
    const { services } = parse(textOf("compose.yaml"), { merge: true }) as {
      readonly services: Readonly<
        Record<
          string,
          { readonly command: readonly string[]; readonly environment: Readonly<Record<string, string>> }
        >
      >;
    };
    for (const [index, name] of ["server-1", "worker"].entries()) {
      const { args, ports, volumeMounts } = workloads[index]?.spec.containers[0] ?? assert.fail();
      const inPod = (word: string): string => word.replace("/run/secrets/", `${volumeMounts[0]?.mountPath}/`);
      assert.deepEqual(args, services[name]?.command.map(inPod));
      const exposed = /^EXPOSE (.*)$/m.exec(textOf("Dockerfile"))?.[1]?.split(" ") ?? [];
      for (const { containerPort } of ports) assert.ok(exposed.includes(String(containerPort)), name);
    }
    const { env = [], readinessProbe } = workloads[0]?.spec.containers[0] ?? assert.fail();
    const { GRANDSTAND_REDIS: _, ...settings } = services["server-1"]?.environment ?? {};
    assert.deepEqual(Object.fromEntries(env.map(({ name, value }) => [name, value])), settings);
    // A stopping server goes on answering for 5 s, in which it has to be taken out.
    assert.ok((readinessProbe?.periodSeconds ?? 10) < 5);
  });
});
