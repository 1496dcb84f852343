/** @jsxImportSource react */
/** A page of a club in React: who is signed in, the points, the board and the show. */

import { type Client, type FanClient, feeds, leaderboards, loyalty } from "grandstand/client";
import { FanProvider, useEvent, useFan, useLeaderboard, useOwnEntry, useProfile } from "grandstand/react";
import { useState } from "react";

/** The parts of the API that the page calls. */
export const areas = { feeds, leaderboards, loyalty };
type AppClient = FanClient<typeof areas>;
type AccountClient = Client<typeof areas>;

/** The page. The client is created once, outside of it. */
export function App({ client, eventId }: { readonly client: AppClient; readonly eventId: string }) {
  return (
    <FanProvider client={client}>
      <Door />
      <Points />
      <Board eventId={eventId} />
      <Show eventId={eventId} />
    </FanProvider>
  );
}

/** The page for a fan of the club's own accounts, whose client has a token of the club's server. */
export function AccountApp({
  client,
  projectId,
  eventId,
  userId,
}: {
  readonly client: AccountClient;
  readonly projectId: string;
  readonly eventId: string;
  readonly userId: string;
}) {
  return (
    <FanProvider client={client} projectId={projectId} user={{ userId }}>
      <Points />
      <Board eventId={eventId} limit={1} />
      <Show eventId={eventId} />
    </FanProvider>
  );
}

function Door() {
  const { client, user } = useFan<AppClient>();
  const [username, setUsername] = useState("");
  if (user === undefined) return <p>Who is there?</p>;
  if (user !== null) {
    return (
      <button type="button" onClick={() => client.session.logOut()}>
        Log out
      </button>
    );
  }
  return (
    <form
      onSubmit={event => {
        event.preventDefault();
        void client.session.register({ provider: "noLogin", username });
      }}
    >
      <label>
        Your name <input value={username} onChange={event => setUsername(event.target.value)} />
      </label>
      <button type="submit">Join</button>
    </form>
  );
}

function Points() {
  const { client, user } = useFan<AccountClient>();
  const { data, error, refresh } = useProfile();
  async function share(): Promise<void> {
    await client.loyalty.reportAction({ body: { action: "share" } });
    refresh();
  }
  if (!user) return null;
  return (
    <section>
      <output>{data === undefined ? "…" : `${data.metrics.points ?? 0} points`}</output>
      <button type="button" onClick={share}>
        Share the match
      </button>
      {error !== undefined && <p role="alert">{String(error)}</p>}
    </section>
  );
}

function Board({ eventId, limit = 10 }: { readonly eventId: string; readonly limit?: number }) {
  const [leaderboardId, setId] = useState("overall");
  const board = leaderboardId === "show" ? { leaderboardId: "overall", eventId } : { leaderboardId };
  const { data, error, isLoading, isLost } = useLeaderboard({ ...board, limit });
  const { data: own, refresh } = useOwnEntry(board);
  return (
    <section aria-busy={isLoading || isLost}>
      <select value={leaderboardId} onChange={event => setId(event.target.value)} aria-label="Board">
        <option>overall</option>
        <option>show</option>
        <option>unknown</option>
      </select>
      <ol>
        {data?.data.map(({ userId, rank, publicProfile, score }) => (
          <li key={userId} value={rank}>
            {publicProfile.username}: {score}
          </li>
        ))}
      </ol>
      {own !== undefined && (
        <button type="button" onClick={refresh}>
          {own === null ? "You are not on the board" : `You are number ${own.rank} with ${own.score}`}
        </button>
      )}
      {error !== undefined && <p role="alert">{String(error)}</p>}
    </section>
  );
}

function Show({ eventId }: { readonly eventId: string }) {
  const { data } = useEvent({ eventId, projectBoards: "overall" });
  if (data === undefined) return <p>The show is being read.</p>;
  return (
    <p>
      {data.history.timeline.length} elements, {data.projectLeaderboards.overall?.totalCount ?? 0} fans
    </p>
  );
}
