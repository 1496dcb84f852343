/** A project of the catalogue app, and command lines of its author. */

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { describeOnStores, type OpenStore } from "../support/stores.ts";
import { type Outcome, runCli, type Surroundings } from "../support/terminal.ts";
import { type AppAuthor, catalogueUrl, openAuthor } from "./_apps.ts";
import { operatorToken, to } from "./_control_examples.ts";

/** A world with a project for shows. */
export interface Show extends AppAuthor {
  readonly project: string;
  readonly files: Map<string, string | Uint8Array>;
  /** Runs a command line, in which `$NAME` stands for a value of `values`. */
  run(line: string, values?: Readonly<Record<string, string>>, more?: Surroundings): Promise<Outcome>;
  /** Runs it with `--json`, which has to succeed, and returns the data. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into data of every form.
  data(line: string, values?: Readonly<Record<string, string>>): Promise<any>;
  /** Creates an event and returns its id. */
  event(attributes?: object): Promise<string>;
  /** Creates elements from YAML and returns their ids. */
  apply(event: string, yaml: string, flags?: string): Promise<readonly string[]>;
  /** Returns the number of audit entries. */
  audited(): Promise<number>;
}

/** Opens the world. */
export async function openShow(t: TestContext, open: OpenStore): Promise<Show> {
  const author = await openAuthor(t, open);
  const { world } = author;
  const token = await operatorToken(world);
  const app = await author.addApp(catalogueUrl);
  assert.equal(app.status, 201, app.text);
  const project: string = (await author.addProject(app.json.data.id)).json.data.id;
  const files = new Map<string, string | Uint8Array>();
  const variables = (values: Readonly<Record<string, string>>): Readonly<Record<string, string>> => ({
    PROJECT: project,
    ...values,
  });
  const show: Show = {
    ...author,
    project,
    files,
    run: (line, values = {}, more = {}) =>
      runCli(
        line
          .split(" ")
          .filter(word => word !== "")
          .map(word => word.replace(/\$([A-Z_]+)/g, (_, name: string) => variables(values)[name] ?? "")),
        {
          fetch: world.platform.fetch,
          files,
          clock: world.clock.now,
          ...more,
          variables: {
            GRANDSTAND_TOKEN: token,
            // The public address of the platform, to which links lead.
            GRANDSTAND_CONTROL_URL: "http://127.0.0.1:8787",
            ...more.variables,
          },
        },
      ),
    async data(line, values) {
      const outcome = await show.run(`${line} --json`, values);
      assert.equal(outcome.code, 0, outcome.stderr);
      return outcome.json.data;
    },
    event: (attributes = {}) =>
      author.create("events", { name: "Final", ...attributes }, { project: to("projects", project) }),
    async apply(event, yaml, flags = "") {
      files.set("elements.yaml", yaml);
      const rows = await show.data(`elements apply --event ${event} --file elements.yaml ${flags}`);
      return rows.map(({ id }: { id: string }) => id);
    },
    async audited() {
      const { json } = await author.call(`/projects/${project}/audit?page[count]=100`);
      return json.data.length;
    },
  };
  return show;
}

export { describeOnStores };
