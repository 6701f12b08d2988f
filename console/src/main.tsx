import { render } from "preact";
import { completeOidc } from "./api/oidc";
import { toProblem } from "./api/problem";
import { refreshRights, signInLocally, signInWith } from "./api/sign_in";
import { App } from "./shell/App";
import { fetchLocalToken, loadSettings } from "./shell/settings";
import { signInProblem } from "./shell/SignIn";
import { ErrorState } from "./ui/states";
import "./styles/tokens.css";
import "./styles/controls.css";
import "./styles/shell.css";

/** Load the settings, complete a sign-in that is under way, and show the console. */
async function start(root: HTMLElement): Promise<void> {
  try {
    const { local, is_agent_host: isAgentHost } = await loadSettings();
    // An agent's own host opens its chat: operators use the address of the deployment.
    if (isAgentHost) return location.replace("chat.html");
    const token = await completeOidc();
    if (token) await signInWith(token);
    else if (local) await signInLocally(fetchLocalToken);
    // A 401 asks for a new sign-in by itself; without an answer the rights stay as they were.
    void refreshRights().catch(() => undefined);
  } catch (error) {
    const problem = toProblem(error);
    if (problem.code === "unreachable") {
      return render(<ErrorState problem={problem} reload={() => void start(root)} />, root);
    }
    signInProblem.value = problem;
  }
  render(<App />, root);
}

const root = document.getElementById("app");
if (root) void start(root);
