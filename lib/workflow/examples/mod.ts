/**
 * Example backends, ready to run: `grandstand workflow example`.
 *
 * @module
 */

export { leaderboardWinners } from "./leaderboard_winners.ts";
export type { ExampleOptions } from "./options.ts";
export { quizFromCsv } from "./quiz_from_csv.ts";
