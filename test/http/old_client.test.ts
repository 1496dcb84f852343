/** A client of deployments of these interfaces works unchanged. The tests of running servers play it as well. */

import { it } from "node:test";
import { playOldClient } from "../support/old_client.ts";
import { ids, openPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { operatorToken } from "./_control_examples.ts";

describeOnStores("an old client", open => {
  // The clock stands still: what happens in one second keeps its order.
  it("runs a show", async t => {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    await playOldClient({
      baseUrl: "http://club.example",
      token: await operatorToken(world),
      organisationId: ids.organisation,
      spaceId: ids.space,
      specUrl: "http://127.0.0.1:8787/apps/catalogue/1.0.0/spec.json",
      fetch: request => world.platform.fetch(request),
    });
  });
});
