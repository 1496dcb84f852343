/** The checks as data: level, id, what they need, title, and what to do if they fail. */
const rows = `
mandatory   | transport.methods        |                       | Only POST opens a dialogue                         | Answer 405 to every other method
mandatory   | transport.json           |                       | Bodies that are no JSON object are refused         | Answer 400 to a body that cannot be parsed, and to arrays, texts, numbers and null
mandatory   | transport.types          |                       | Fields of a wrong type are refused                 | Check the types of context, action, taskId, inputs and payload before you use them
mandatory   | transport.unknown_fields | view                  | Unknown fields and headers are ignored             | Take the fields that you know: later versions of the protocol may add some
recommended | transport.size           | view                  | A body of 16 MB is refused, and the backend goes on | Stop reading after 15 MB and answer 413
recommended | transport.media_type     |                       | Only JSON is read                                  | Answer 415 unless the content type is application/json
mandatory   | authentication.missing   |                       | A request without a bearer is 401                  | Read the Authorization header first
mandatory   | authentication.unknown   |                       | An unknown bearer is 401                           | Send the bearer to GET /api/v2/me of the control API, and pass its 401 on
mandatory   | authentication.expired   | expiredToken          | An expired bearer is 401                           | Keep a verified token for 10 s at most
mandatory   | authentication.presses   | view                  | Presses and polls are verified too                 | Verify every request, not the first one alone
recommended | authentication.challenge |                       | 401 has a WWW-Authenticate header                  | Send "WWW-Authenticate: Bearer" with 401
mandatory   | base_url.foreign         | view listener         | A control API that a request names is never asked  | Compare the whole context.baseURL with your own setting, and ask that one alone
mandatory   | context.foreign          | view foreign          | Another organisation is 403                        | Ask GET /api/v2/projects/{id}/my_role, or /api/v2/events/{id}?include=my_role, for the role of the caller
mandatory   | context.mixed            | view foreign levels   | Ids of two organisations are 403                   | Compare every id of the context with the meta.parents of my_role
mandatory   | context.parents          | view elsewhere levels | Ids that do not belong together are 403            | Compare every id of the context with the meta.parents of my_role, whatever the roles are
mandatory   | context.ids              | view                  | Texts that are no ids are refused                  | Check that ids are UUIDs before you build a path of them
mandatory   | dialogue.start           |                       | A context alone opens a dialogue                   | Answer a verified request without action and taskId with 200 and the first view; the control API of the check has to be that of the backend
mandatory   | dialogue.press           | action                | The action of a view is answered with a view       | Answer with 200 and a view, also where the person has to repeat an input
mandatory   | action.unknown           | view                  | An action that the view lacks is declined          | Look the action up among those of the view; answer others with a warning and the current view
mandatory   | action.repeated          | action                | A press that is sent again is not done again       | Keep the answer to a press for some minutes under its Idempotency-Key, or under an id in the payload
mandatory   | action.twice             | action                | A view is pressed once, also without a key         | Put an id of the view into the payload; answer its second press with the first answer, a warning or 409
mandatory   | action.parallel          | action                | Two presses at once take effect once               | Reserve the view in one step of the store before you act; answer the other press with 409 and Retry-After
recommended | action.older             | action another        | Another action of a used view is declined          | Let a view be used once, whichever action is pressed
mandatory   | payload.altered          | action payload        | An altered payload is declined                     | Sign or seal the payload, or send an id that cannot be guessed and keep the state yourself
mandatory   | payload.truncated        | action payload        | A payload that was cut or left out is declined     | Check the whole payload before you use a part of it
mandatory   | payload.other_user       | action payload colleague | The payload of another person is declined       | Bind the payload to the id of the user that GET /api/v2/me names
mandatory   | payload.other_context    | action payload elsewhere | The payload of another context is declined      | Bind the payload to the ids of the context
mandatory   | inputs.hostile           | action                | Texts of every kind are answered                   | Bound what you take, and answer what you do not like with a warning
recommended | inputs.markup            | action text           | Typed markup is shown as text                      | Replace & and < in values of text blocks by &amp; and &lt;
mandatory   | inputs.base64            | action file           | A file that is no Base64 is declined               | Decode strictly: many decoders skip what they do not know
mandatory   | inputs.image             | action image          | An image that is something else is declined        | Look at the first bytes; take PNG, JPEG, GIF and WebP, and never SVG
recommended | inputs.colour            | action colour         | A colour that is none is declined                  | Take #rrggbb alone
mandatory   | task.poll                | task                  | A poll is answered with a view                     | Answer {context, taskId, payload} with 200 and the task, or what came of it
mandatory   | task.unknown             | view                  | The id of no task shows none                       | Answer an unknown task with a warning, without task
mandatory   | task.other_user          | task colleague        | The task of another person is not shown            | Look tasks up with the id of the user that GET /api/v2/me names
mandatory   | task.other_context       | task elsewhere        | A task is not shown in another context             | Keep the ids of the context with the task
mandatory   | task.final               | task end              | A task that is over stays over                     | Keep completed and failed as they are, whatever is polled
mandatory   | answers.form             |                       | Every 200 is a view in the form of the protocol    | Answer 200 with application/json and blocks, as the protocol describes them
mandatory   | answers.progress         |                       | Progress is a number from 0 to 100                 | Clamp progress before you answer
recommended | answers.rising           | task                  | Progress never falls within a task                 | Keep the highest progress of the task
mandatory   | answers.errors           |                       | No answer is a 5xx                                 | Look into the log of the backend: bad input is a 4xx or a warning
mandatory   | answers.time             |                       | Every answer comes within 30 s                     | Begin a task for what takes longer than 3 s
recommended | answers.problems         |                       | Refusals are problem documents                     | Answer 4xx as application/problem+json with status, title and detail
`;

/** A check of a backend. */
export interface Check {
  /** Stable. */
  readonly id: string;
  /** A backend without what is mandatory is unsafe, or does not work with every frontend. */
  readonly level: "mandatory" | "recommended";
  readonly title: string;
  /** What to do if it fails. */
  readonly hint: string;
  /** Fixtures, and what the backend has to show, without which it is skipped. */
  readonly needs: readonly string[];
}

/** The checks in the order in which they run. */
export const conformanceChecks: readonly Check[] = rows
  .trim()
  .split("\n")
  .map(row => {
    const [level, id = "", needs = "", title = "", hint = ""] = row.split("|").map(cell => cell.trim());
    return { id, level: level as Check["level"], title, hint, needs: needs.split(" ").filter(Boolean) };
  });
