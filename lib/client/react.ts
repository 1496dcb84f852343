/**
 * Hooks for React over the client of a fan's app: who is signed in, the rewards profile, live boards and live events.
 *
 * Each hook reads once it is mounted, so that a page rendered on a server shows what has no data yet. A component that goes ends
 * what it follows.
 *
 * @module
 */

import {
  createContext,
  createElement,
  type ReactElement,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useState,
} from "react";
import type { CallOptions, DocumentOf } from "./area.ts";
import type { Areas, Client } from "./client.ts";
import type { GrandstandError } from "./errors.ts";
import type { FanClient } from "./fan_client.ts";
import type { FeedsOperations, feeds } from "./feeds.ts";
import type { LeaderboardsOperations, leaderboards } from "./leaderboards.ts";
import type { LoyaltyOperations, loyalty } from "./loyalty.ts";
import type { FanSession } from "./session.ts";
import type { FanUser } from "./session_state.ts";

/** A client with the session of its fan, or one with credentials of its own. */
type AnyClient = Client<Areas> | FanClient<Areas>;

/** A fan of your own accounts, by the id that `accountUserId` returns. */
export type AccountUser = Pick<FanUser, "userId">;

/** The client of the app, its project, and the fan who is signed in. */
export interface Fan<C extends AnyClient> {
  readonly client: C;
  readonly projectId: string;
  /** Null: nobody is signed in; undefined: nobody knows yet. */
  readonly user: (C extends FanClient<Areas> ? FanUser : AccountUser) | null | undefined;
}

/** Properties of `FanProvider`: a client with a session, or for your own accounts one with credentials, its project and its fan. */
export type FanProviderProps = { readonly children?: ReactNode } & (
  | { readonly client: FanClient<Areas>; readonly projectId?: never; readonly user?: never }
  | Fan<Client<Areas> & { readonly session?: never }>
);

/** What a hook has read. */
export interface Reading<T> {
  /** The newest value; undefined until there is one. */
  readonly data: T | undefined;
  /** Why nothing newer follows until `refresh` is called; undefined while all is well. */
  readonly error: unknown;
  /** True while the connection is lost, so that `data` may be out of date. It is tried again without your help. */
  readonly isLost: boolean;
  /** True until the first value or error, and again after `refresh`. */
  readonly isLoading: boolean;
  /** Reads again. */
  readonly refresh: () => void;
}

/** A board of a project, or with `eventId` one of an event, and what else `watchProjectLeaderboard` takes. */
export type BoardQuery = Omit<
  NonNullable<Parameters<LeaderboardsOperations["watchProjectLeaderboard"]>[0]>,
  "projectId" | "include" | "around"
> & {
  readonly eventId?: string;
};

/** An event, and the boards to be read with it, as `watchEvent` takes them. */
export type EventQuery = Omit<NonNullable<Parameters<FeedsOperations["watchEvent"]>[0]>, "prefix">;

/** A board, as it was last. */
export type BoardReading = DocumentOf<LeaderboardsOperations["listProjectLeaderboard"]>;

/** The entry of a user on a board, with the share of users whom it beats; null without one. */
export type EntryReading = Awaited<ReturnType<LeaderboardsOperations["getProjectLeaderboardEntry"]>> | null;

/** An event with its elements, figures and boards, as they were last. */
export type EventReading = DocumentOf<FeedsOperations["getLiveEvent"]>;

/** The rewards profile of a fan. */
export type RewardsProfile = Awaited<ReturnType<LoyaltyOperations["getRewardsProfile"]>>;

const FanContext = createContext<Fan<AnyClient> | null>(null);

/**
 * Gives the client of the app to the hooks below it. Create the client once, outside of components.
 *
 * @example
 * ```tsx
 * const client = createFanClient({ url, projectId, storage: () => localStorage, areas: { loyalty, leaderboards } });
 *
 * createRoot(element).render(
 *   <FanProvider client={client}>
 *     <Board />
 *   </FanProvider>,
 * );
 * ```
 */
export function FanProvider({ client, children, ...own }: FanProviderProps): ReactElement {
  const session = client.session as FanSession | undefined;
  const [signedIn, setSignedIn] = useState<FanUser | null>();
  useEffect(() => {
    if (session === undefined) return;
    let isMounted = true;
    const end = session.subscribe(setSignedIn);
    // A change that comes meanwhile is newer than what was asked for before it.
    void session.user().then(found => {
      if (isMounted) setSignedIn(before => (before === undefined ? found : before));
    });
    return () => {
      isMounted = false;
      end();
      setSignedIn(undefined);
    };
  }, [session]);
  const user = session === undefined ? own.user : signedIn;
  const projectId = session?.projectId ?? own.projectId ?? "";
  const value = useMemo(() => ({ client, projectId, user }), [client, projectId, user]);
  return createElement(FanContext.Provider, { value }, children);
}

/**
 * Returns the client and the fan who is signed in, and renders again when that changes.
 *
 * @throws {Error} There is no `FanProvider` above.
 * @example
 * ```tsx
 * function Cheer() {
 *   const { client, user } = useFan<FanClient<{ loyalty: typeof loyalty }>>();
 *   if (!user) return <button onClick={() => client.session.register({ provider: "noLogin", username: "Sam" })}>Join</button>;
 *   return <button onClick={() => client.loyalty.reportAction({ body: { action: "cheer" } })}>Cheer</button>;
 * }
 * ```
 */
export function useFan<C extends AnyClient = FanClient<Areas>>(): Fan<C> {
  const fan = useContext(FanContext);
  if (fan === null) throw new Error("Cannot use the fan: put a FanProvider above the component");
  return fan as Fan<C>;
}

/**
 * Reads the rewards profile of the fan who is signed in, and that of the next one when another signs in; nothing while nobody is. Call
 * `refresh` after an action that earns or spends.
 *
 * @example
 * ```tsx
 * function Points() {
 *   const { data } = useProfile();
 *   return <output>{data?.metrics.points ?? 0}</output>;
 * }
 * ```
 */
export function useProfile(): Reading<RewardsProfile> {
  const { client, user } = useFan<Client<{ loyalty: typeof loyalty }>>();
  const userId = user?.userId;
  const follow = useMemo(
    () =>
      userId === undefined
        ? undefined
        : async function* (options: CallOptions) {
            yield await areaOf(client, "loyalty").getRewardsProfile({}, options);
          },
    [client, userId],
  );
  return useReading(follow);
}

/**
 * Follows a board: reads it, and renders again whenever it changes.
 *
 * @example
 * ```tsx
 * function Board() {
 *   const { data, isLost } = useLeaderboard({ leaderboardId: "overall", limit: 10 });
 *   return (
 *     <ol aria-busy={isLost}>
 *       {data?.data.map(({ userId, rank, publicProfile }) => (
 *         <li key={userId} value={rank}>{publicProfile.username}</li>
 *       ))}
 *     </ol>
 *   );
 * }
 * ```
 */
export function useLeaderboard(query: BoardQuery): Reading<BoardReading> {
  const { client, projectId } = useFan<Client<{ leaderboards: typeof leaderboards }>>();
  const text = JSON.stringify(query);
  const follow = useCallback(
    (options: CallOptions) => {
      const { eventId, ...rest } = JSON.parse(text) as BoardQuery;
      const board = { projectId, ...rest };
      const area = areaOf(client, "leaderboards");
      return eventId === undefined
        ? area.watchProjectLeaderboard(board, options)
        : area.watchEventLeaderboard({ eventId, ...board }, options);
    },
    [client, projectId, text],
  );
  return useReading(follow);
}

/**
 * Reads the entry of the fan who is signed in on a board, however far below the leaders; nothing while nobody is. Call `refresh` after an
 * action that scores.
 *
 * @example
 * ```tsx
 * function OwnRank() {
 *   const { data } = useOwnEntry({ leaderboardId: "overall" });
 *   return <p>{data ? `You are number ${data.rank}` : "You have no points yet"}</p>;
 * }
 * ```
 */
export function useOwnEntry(query: Omit<BoardQuery, "limit">): Reading<EntryReading> {
  const { client, projectId, user } = useFan<Client<{ leaderboards: typeof leaderboards }>>();
  const userId = user?.userId;
  const text = JSON.stringify(query);
  const follow = useMemo(
    () =>
      userId === undefined
        ? undefined
        : async function* (options: CallOptions) {
            const { eventId, ...rest } = JSON.parse(text) as BoardQuery;
            const entry = { projectId, userId, ...rest };
            const area = areaOf(client, "leaderboards");
            const reading =
              eventId === undefined
                ? area.getProjectLeaderboardEntry(entry, options)
                : area.getEventLeaderboardEntry({ eventId, ...entry }, options);
            yield await reading.catch((error: GrandstandError) => {
              if (error.code === "not_found") return null;
              throw error;
            });
          },
    [client, projectId, userId, text],
  );
  return useReading<EntryReading>(follow);
}

/**
 * Follows an event: its elements, figures and the boards that are asked for, over one stream. What did not change in a value is the same
 * object as before.
 *
 * @example
 * ```tsx
 * function Show({ eventId }: { eventId: string }) {
 *   const { data } = useEvent({ eventId, boards: "overall" });
 *   return <p>{data?.history.timeline.length ?? 0} elements</p>;
 * }
 * ```
 */
export function useEvent(query: EventQuery): Reading<EventReading> {
  const { client } = useFan<Client<{ feeds: typeof feeds }>>();
  const text = JSON.stringify(query);
  const follow = useCallback(
    (options: CallOptions) => {
      const event = JSON.parse(text) as EventQuery;
      return areaOf(client, "feeds").watchEvent({ prefix: event.eventId.slice(0, 2), ...event }, options);
    },
    [client, text],
  );
  return useReading(follow);
}

function areaOf<A extends Areas, N extends keyof A & string>(client: Client<A>, name: N): Client<A>[N] {
  const area = client[name];
  if (area === undefined) throw new Error(`Cannot read: create the client with the area ${name}`);
  return area;
}

type Follow<T> = (options: CallOptions) => AsyncIterable<T>;

interface Read<T> {
  readonly follow: Follow<T> | undefined;
  readonly round: number;
  readonly data?: T;
  readonly error?: unknown;
  readonly isLost?: boolean;
}

/** Follows values while the component is mounted; nothing if `follow` is undefined. */
function useReading<T>(follow: Follow<T> | undefined): Reading<T> {
  const [read, setRead] = useState<Read<T>>({ follow: undefined, round: 0 });
  const [round, setRound] = useState(0);
  const refresh = useCallback(() => setRound(before => before + 1), []);
  useEffect(() => {
    if (follow === undefined) return;
    const followed = follow;
    const controller = new AbortController();
    const { signal } = controller;
    const change = (next: Partial<Read<T>>): void =>
      setRead(before => ({
        ...(before.follow === followed ? before : {}),
        ...next,
        follow: followed,
        round,
      }));
    const onLost = (): void => change({ isLost: true });
    async function run(): Promise<void> {
      for await (const data of followed({ signal, onLost })) {
        if (signal.aborted) return;
        change({ data, error: undefined, isLost: false });
      }
    }
    run().catch((error: unknown) => {
      if (!signal.aborted) change({ error, isLost: false });
    });
    return () => controller.abort();
  }, [follow, round]);
  const isOwn = read.follow === follow;
  const { data, error, isLost = false }: Partial<Read<T>> = isOwn ? read : {};
  return {
    data,
    error,
    isLost,
    isLoading: follow !== undefined && !(isOwn && read.round === round),
    refresh,
  };
}
