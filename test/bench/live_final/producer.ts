/** The producer: writes elements from the command line, and publishes one after the other during the show. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Demo } from "../../../lib/mod.ts";
import type { Stage } from "./stage.ts";

const polls = 6;

/** A producer at a terminal. */
export class Producer {
  readonly #stage: Stage;
  readonly #demo: Demo;
  #event = "";
  #drafts: string[] = [];
  /** Durations of commands, in ms. */
  readonly commandMs: number[] = [];
  published = 0;

  constructor(stage: Stage, demo: Demo) {
    this.#stage = stage;
    this.#demo = demo;
  }

  /** Creates an event with polls in drafts, and starts it. */
  async prepare(): Promise<void> {
    const file = join(this.#stage.folder, "show.yaml");
    writeFileSync(
      file,
      Array.from({ length: polls }, (_, index) =>
        [
          `- name: poll${index}`,
          "  type: poll",
          `  question: Question ${index}?`,
          "  options: [Yes, No]",
        ].join("\n"),
      ).join("\n"),
    );
    const created = await this.#run(
      "events",
      "create",
      "--project",
      this.#demo.projectId,
      "--name",
      "Final",
      "--duration",
      "0",
    );
    this.#event = created.split("\t")[0] ?? "";
    await this.#run("elements", "apply", "--event", this.#event, "--file", file);
    await this.#run("events", "start", this.#event);
    this.#drafts = (await this.#elements()).map(({ id }) => id);
  }

  /** Publishes the next element. */
  async publish(): Promise<void> {
    const id = this.#drafts.shift();
    if (id === undefined) return;
    await this.#run("elements", "publish", id);
    this.published += 1;
  }

  /** @throws {Error} The public feed does not have every element that was published. */
  async check(): Promise<void> {
    const count = (await this.#elements()).filter(({ state }) => state !== "draft").length;
    if (count !== this.published) throw new Error(`${count} elements are published for ${this.published}`);
  }

  async #elements(): Promise<readonly { readonly id: string; readonly state: string }[]> {
    const listed = JSON.parse(await this.#run("elements", "list", "--event", this.#event, "--json"));
    return listed.data;
  }

  async #run(...args: readonly string[]): Promise<string> {
    const startedAt = performance.now();
    const out = await this.#stage.command(args, {
      GRANDSTAND_CONTROL_URL: `http://127.0.0.1:${this.#stage.ports[1]}`,
      GRANDSTAND_TOKEN: this.#demo.operatorToken ?? "",
      GRANDSTAND_SPACE: this.#demo.spaceId,
      GRANDSTAND_CONFIG: join(this.#stage.folder, "none.json"),
    });
    this.commandMs.push(performance.now() - startedAt);
    return out;
  }
}
