/** The boards of the project: the leaders, and the fan among the others. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { LeaderboardEntry } from "../../../client/mod.ts";
import { Rows } from "./parts.tsx";
import { eventBoard, type Show } from "./show.ts";
import { boardName, clockTime, t } from "./texts.ts";

/** Entries around the fan. */
const aroundLimit = 5;

export function Board({ show, rest }: { readonly show: Show; readonly rest: string }) {
  const { listedBoards: boards } = show;
  const id = boards.find(each => each === rest) ?? boards[0];
  if (id === undefined) return <p class="card empty">{t("noBoards")}</p>;
  return (
    <section class="board">
      <div class="tabs">
        {boards.map(each => (
          <a
            key={each}
            href={`#/board/${encodeURIComponent(each)}`}
            {...(each === id && { "aria-current": "true" as const })}
          >
            {boardName(each)}
          </a>
        ))}
      </div>
      <Leaders key={id} show={show} id={id} />
    </section>
  );
}

function Leaders({ show, id }: { readonly show: Show; readonly id: string }) {
  const board = show.boards.get(id)?.value ?? undefined;
  const around = useSignal<readonly LeaderboardEntry[]>([]);
  const userId = show.fan.value?.userId;
  const isAmongLeaders = board?.data.some(entry => entry.userId === userId) === true;
  useEffect(() => {
    around.value = [];
    if (userId === undefined || board === undefined || isAmongLeaders) return;
    const { project, event } = show.data;
    const wanted = { projectId: project.id, around: userId, limit: aroundLimit };
    const { leaderboards } = show.client;
    const listed =
      event !== null && id.startsWith(eventBoard)
        ? leaderboards.listEventLeaderboard({
            ...wanted,
            eventId: event,
            leaderboardId: id.slice(eventBoard.length),
          })
        : leaderboards.listProjectLeaderboard({ ...wanted, leaderboardId: id });
    // Somebody without a score has no place yet.
    listed.then(
      found => {
        around.value = found;
      },
      () => {},
    );
  }, [userId, isAmongLeaders, board === undefined, show.points.value]);
  if (board === undefined)
    return (
      <div aria-busy="true">
        {Array.from({ length: 10 }, (_, index) => (
          <div key={index} class="row-skeleton skeleton" />
        ))}
      </div>
    );
  if (board.data.length === 0) return <p class="card empty">{t("emptyBoard")}</p>;
  const age = show.age();
  return (
    <div class="card" data-old={age > 0}>
      <Rows entries={board.data} userId={userId} />
      {around.value.length > 0 && (
        <>
          <h2>{t("you")}</h2>
          <Rows entries={around.value} userId={userId} />
        </>
      )}
      <p class="quiet">
        {t("fans", { count: board.totalCount })} · {t("asOf", { time: clockTime(Date.now() - age) })}
      </p>
    </div>
  );
}
