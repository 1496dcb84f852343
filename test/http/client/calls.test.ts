/** Calls of the typed client against a platform: every style of answer, page and error. */

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import {
  accessToken,
  apiKey,
  audience,
  type Client,
  control,
  createClient,
  createFanClient,
  type FanClient,
  GrandstandError,
  identity,
  leaderboards,
  location,
  loyalty,
  spaceToken,
  workflow,
} from "../../../lib/client/mod.ts";
import { ids } from "../../support/platform.ts";
import { type Network, openNetwork, url } from "./_network.ts";

const fanAreas = { identity, location, leaderboards, loyalty, audience };
const authorAreas = { control, workflow };
const board = { projectId: ids.project, leaderboardId: "overall" };

/** Returns the failure of a call. */
async function failureOf(call: PromiseLike<unknown>): Promise<GrandstandError> {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof GrandstandError, String(error));
  return error;
}

async function count(list: AsyncIterable<unknown>): Promise<number> {
  let entries = 0;
  for await (const _ of list) entries += 1;
  return entries;
}

describe("the typed client", () => {
  let network: Network;
  let fan: FanClient<typeof fanAreas>;
  let author: Client<typeof authorAreas>;
  let backEnd: Client<typeof fanAreas>;

  before(async () => {
    network = await openNetwork();
    const { world, environment } = network;
    const common = { ...environment, url, organisationId: ids.organisation };
    fan = createFanClient({ ...common, projectId: ids.project, areas: fanAreas });
    await fan.session.register({ provider: "noLogin", username: "Sam" });
    const { id: userId } = await world.platform.authors.findOrCreate("ann@club.example", { operator: true });
    const { token } = await world.platform.authors.createToken({ userId, name: "Tests" });
    author = createClient({ ...common, areas: authorAreas, credentials: accessToken(token) });
    const { key, secret } = await world.platform.apiKeys.create({
      organisationId: ids.organisation,
      name: "Back end",
      permissions: ["users:read", "rewards:write", "actions:write"],
    });
    backEnd = createClient({ ...common, areas: fanAreas, credentials: apiKey(key, secret) });
  });
  after(() => network.world.dispose());
  beforeEach(() => {
    network.disturb = () => null;
    network.requests.length = 0;
    network.pauses.length = 0;
  });

  it("resolves to the data of answers, and to the whole answer where that is asked for", async () => {
    await fan.loyalty.reportAction({ body: { action: "prediction", data: { outcome: "exact" } } });
    await network.world.platform.idle();
    const profile = await fan.loyalty.getRewardsProfile();
    assert.equal(profile.metrics.points, 3);
    const [leader] = await fan.leaderboards.listProjectLeaderboard({ ...board, limit: 1 });
    assert.deepEqual([leader?.rank, leader?.score, leader?.publicProfile.username], [1, 3, "Sam"]);
    const { document, status, headers } = await fan.leaderboards.listProjectLeaderboard(board).whole();
    assert.deepEqual([status, document.totalCount, document.data.length], [200, 1, 1]);
    assert.match(headers.get("content-type") ?? "", /json/);
    const here = await fan.location.checkProjectLocation({ projectId: ids.project });
    assert.equal(here.country.iso_code, "ZZ");
    const { users } = await backEnd.audience.listAudienceProfiles({ user_ids: [leader?.userId ?? ""] });
    assert.equal(users.length, 1);
  });

  it("reads lists to their end, however pages are linked", async () => {
    for (let action = 0; action < 3; action++) {
      await fan.loyalty.reportAction({ body: { action: "prediction", data: { outcome: "exact" } } });
    }
    const whole = (await fan.loyalty.listLoyaltyHistory()).length;
    assert.ok(whole > 3);
    const firstPage = fan.loyalty.listLoyaltyHistory({ limit: 1 });
    assert.equal((await firstPage).length, 1);
    assert.equal(await count(firstPage), whole, "a cursor");
    const transactions = (await fan.audience.listAudienceTransactions({ limit: 100 })).length;
    assert.equal(await count(fan.audience.listAudienceTransactions({ limit: 1 })), transactions, "a key");
    const people = createFanClient({ ...network.environment, url, projectId: ids.project, areas: {} });
    for (const username of ["Kim", "Lou"]) await people.session.register({ provider: "noLogin", username });
    const found = await count(backEnd.audience.searchAudienceUsers({ body: { filter: {}, limit: 1 } }));
    assert.equal(found, 3, "a key in the body");
    await network.world.platform.idle();
    const trail = backEnd.identity.listProjectAudit({ projectId: ids.project, limit: 1 });
    assert.ok((await count(trail)) >= 3, "a cursor beside the entries");
    const project = { data: { type: "projects", id: ids.project } } as const;
    for (const name of ["One", "Two", "Three"]) {
      const data = { type: "events", attributes: { name }, relationships: { project } } as const;
      const event = await author.control.createEvent({ body: { data } });
      assert.equal(event.attributes.name, name);
    }
    const events = author.control.listProjectEvents({ projectId: ids.project, "page[count]": 2 });
    assert.equal(await count(events), 4, "a link");
    const none = backEnd.audience.listDeadActions({ limit: 1 });
    assert.equal(await count(none), 0, "an offset");
  });

  it("sends conditions, and names the code, the input at fault and the request in each error format", async () => {
    const event = author.control.readEvent({ eventId: ids.event });
    const etag = (await event.whole()).headers.get("etag") ?? "";
    const change = { data: { type: "events", id: ids.event, attributes: { name: "Derby" } } } as const;
    const headers = { "if-match": etag };
    await author.control.changeEvent({ eventId: ids.event, body: change }, { headers });
    const stale = await failureOf(
      author.control.changeEvent({ eventId: ids.event, body: change }, { headers }),
    );
    assert.deepEqual([stale.code, stale.status, stale.retryable], ["precondition_failed", 412, false]);
    assert.ok(stale.requestId);

    // biome-ignore lint/suspicious/noExplicitAny: input that the types refuse
    const wrong: any = { action: 7, data: { outcome: {} } };
    const problem = await failureOf(fan.loyalty.reportAction({ body: wrong }));
    assert.deepEqual([problem.code, problem.status], ["validation_failed", 400]);
    assert.deepEqual(
      problem.fields.map(({ pointer }) => pointer),
      ["/action", "/data/outcome"],
    );
    const entry = await failureOf(fan.session.register({ provider: "noLogin", username: "" }));
    assert.equal(entry.code, "validation_failed");
    assert.ok(entry.fields[0]?.pointer.includes("username"));
    const missing = await failureOf(author.workflow.readWorkflow({ workflowId: ids.event }));
    assert.deepEqual([missing.code, missing.status], ["not_found", 404]);
    const anonymous = createClient({ ...network.environment, url, areas: { loyalty } });
    assert.equal((await failureOf(anonymous.loyalty.getRewardsProfile())).code, "missing_token");
  });

  it("repeats what may be repeated, and counts it once where the answer was lost", async () => {
    const before = (await fan.loyalty.getRewardsProfile()).metrics.points ?? 0;
    loseAnswers(1);
    await fan.loyalty.reportAction({ body: { action: "prediction", data: { outcome: "exact" } } });
    loseAnswers(1);
    const { userId = "" } = (await fan.session.user()) ?? {};
    await backEnd.audience.queueAction({
      body: { userId, action: "prediction", projectId: ids.project, data: { outcome: "exact" } },
    });
    const { metrics } = await fan.loyalty.getRewardsProfile();
    assert.equal((metrics.points ?? 0) - before, 6);
    const project = { data: { type: "projects", id: ids.project } } as const;
    const data = { type: "events", attributes: { name: "Lost" }, relationships: { project } } as const;
    loseAnswers(1);
    const { id: eventId } = await author.control.createEvent({ body: { data } });
    const events = await author.control.listProjectEvents({ projectId: ids.project, "page[count]": 100 });
    assert.equal(events.filter(({ attributes }) => attributes.name === "Lost").length, 1);
    loseAnswers(1);
    await author.control.removeEvent({ eventId });
    assert.equal((await failureOf(author.control.removeEvent({ eventId }))).code, "not_found");
    network.requests.length = 0;
    loseAnswers(9);
    assert.equal((await failureOf(fan.loyalty.getRewardsProfile())).code, "network");
    assert.deepEqual(network.requests, Array(4).fill("GET /api/loyalty/profile"));
  });

  it("repeats what adds to a score, which counts once", async () => {
    const laps = { ...board, leaderboardId: "laps", userId: "kim" };
    loseAnswers(2);
    const added = await backEnd.leaderboards.addProjectLeaderboardScore({
      ...laps,
      body: { id: "lap-1", by: 2 },
    });
    assert.equal(added.score, 2);
    loseAnswers(2);
    const body = { id: "lap-2", score: 2, operator: "sum" } as const;
    assert.equal((await backEnd.leaderboards.putProjectLeaderboardEntry({ ...laps, body })).score, 4);
    assert.equal(network.requests.length, 6);
  });

  it("sends once what a repetition would double, unless the server refused it before", async () => {
    const report = { body: { actions: [{ userId: "kim", action: "prediction" }] } };
    loseAnswers(9);
    assert.equal((await failureOf(backEnd.audience.putAudienceActions(report))).code, "network");
    assert.equal(network.requests.length, 1);
    let busy = 2;
    network.disturb = () =>
      busy-- > 0
        ? Response.json(
            { code: "busy", detail: "too many" },
            { status: 503, headers: { "retry-after": "2" } },
          )
        : null;
    await backEnd.audience.putAudienceActions(report);
    assert.ok(network.pauses.every(ms => ms >= 2_000));
  });

  it("gives up where the server asks for more time than a caller has, and says how much", async () => {
    network.disturb = () =>
      Response.json({ code: "rate_limited" }, { status: 429, headers: { "retry-after": "60" } });
    const error = await failureOf(fan.leaderboards.listProjectLeaderboard(board));
    assert.deepEqual([error.code, error.retryAfterMs, network.requests.length], ["rate_limited", 60_000, 1]);
  });

  it("ends calls by their signal, and refuses parameters that are no path before anything is sent", async () => {
    const controller = new AbortController();
    network.disturb = request => {
      controller.abort();
      return Promise.reject(request.signal.reason);
    };
    const aborted = await failureOf(
      fan.leaderboards.listProjectLeaderboard(board, { signal: controller.signal }),
    );
    assert.equal(aborted.code, "aborted");
    const early = fan.leaderboards.listProjectLeaderboard(board, { signal: AbortSignal.abort() });
    assert.equal((await failureOf(early)).code, "aborted");
    network.requests.length = 0;
    for (const leaderboardId of ["", ".", ".."]) {
      await assert.rejects(fan.leaderboards.listProjectLeaderboard({ ...board, leaderboardId }), TypeError);
    }
    assert.deepEqual(network.requests, []);
    assert.throws(() => createClient({ url: "club.example", areas: {} }), TypeError);
  });

  /** Lets requests take effect, and loses their answers. */
  function loseAnswers(times: number): void {
    let left = times;
    network.disturb = request => {
      if (left-- <= 0) return null;
      return network.world.platform.fetch(request).then(() => Promise.reject(new TypeError("terminated")));
    };
  }

  it("asks for a space token with the first call, and once for another when it is refused", async () => {
    const { world, environment } = network;
    const space = await world.platform.directory.space(ids.space);
    assert.ok(space !== null);
    const tenant = { organisationId: ids.organisation, spaceId: ids.space, projectId: ids.project };
    const principal = { kind: "user", userId: "0d000000-0000-4000-8000-000000000001", ...tenant } as const;
    let asked = 0;
    let isLost = true;
    let isOther = false;
    const credentials = spaceToken(async () => {
      if (isLost) throw new Error("no connection");
      asked += 1;
      const signedIn = isOther ? { ...principal, userId: "0d000000-0000-4000-8000-000000000002" } : principal;
      return (await world.platform.spaceTokens.issue(space, signedIn)).accessToken;
    });
    const guest = createClient({ ...environment, url, areas: fanAreas, credentials });
    const read = () => guest.loyalty.getRewardsProfile();
    await assert.rejects(async () => await read(), /no connection/);
    isLost = false;
    await Promise.all([read(), read()]);
    assert.equal(asked, 1);
    world.clock.advance(3_700_000);
    await Promise.all([read(), read()]);
    assert.equal(asked, 2);
    isOther = true;
    world.clock.advance(3_700_000);
    const other = await failureOf(read());
    assert.deepEqual([other.code, other.retryable], ["other_fan", false]);
    isOther = false;
    await read();
    asked = 2;
    network.disturb = () => Response.json({ code: "invalid_token" }, { status: 401 });
    assert.equal((await failureOf(read())).status, 401);
    assert.equal(asked, 3);
    const fixed = createClient({ ...environment, url, areas: fanAreas, credentials: spaceToken("old") });
    network.requests.length = 0;
    assert.equal((await failureOf(fixed.loyalty.getRewardsProfile())).status, 401);
    assert.equal(network.requests.length, 1, "the same token is not sent again");
  });
});
