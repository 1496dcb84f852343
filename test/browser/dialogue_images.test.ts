/** Images of dialogues in a browser. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { browserAvailable } from "../support/browser.ts";
import { ids } from "../support/platform.ts";
import { play, registerWorkflow } from "./_dialogue.ts";
import { openStudioWorld, type StudioWorld } from "./_studio.ts";

const picture = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

describe("an image of a dialogue in a browser", { skip: browserAvailable() }, () => {
  let world: StudioWorld;
  let workflow: string;
  before(async () => {
    world = await openStudioWorld();
    workflow = await registerWorkflow(world, "Import questions");
  });
  after(() => world.dispose());

  it("is shown from programs on this machine", async t => {
    const server = createServer((_, response) =>
      response.setHeader("content-type", "image/png").end(picture),
    );
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    const { page, faults } = await world.open("");
    await play(page, () => ({
      blocks: [
        ...["127.0.0.1", "localhost"].map(host => ({
          ...{ type: "image", url: `http://${host}:${port}/a.png`, alt_text: host },
        })),
        { type: "image", url: "http://pictures.example/a.png", alt_text: "Elsewhere" },
      ],
    }));
    await page.goto(`${world.url}/studio#/projects/${ids.project}/workflows/${workflow}`);
    for (const name of ["127.0.0.1", "localhost"]) {
      const image = page.getByRole("img", { name, exact: true });
      await image.waitFor();
      assert.equal(
        await image.evaluate(each => (each as HTMLImageElement).decode().then(() => "shown")),
        "shown",
      );
    }
    assert.equal(await page.getByRole("img", { name: "Elsewhere" }).count(), 0);
    assert.deepEqual(faults, []);
  });
});
