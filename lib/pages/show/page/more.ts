/** The parts that load when somebody goes there. One file: what they share with the first view is one file then, too. */

export { Board as board } from "./board.tsx";
export { Me as me } from "./me.tsx";
export { Screen } from "./screen.tsx";
export { Shop as shop } from "./shop.tsx";
export { SignIn as signIn } from "./sign_in.tsx";
