import { Problem, toProblem } from "../../api/problem";

/** Delete what the reader sees. If somebody changed it meanwhile, it is read again and the reader decides once more. */
export async function deleteShown(work: Promise<unknown>, reload: () => void): Promise<void> {
  try {
    await work;
  } catch (error) {
    const problem = toProblem(error);
    if (problem.status !== 409) throw problem;
    reload();
    throw new Problem(
      409,
      problem.code,
      "Someone changed it meanwhile; the page now shows the change. Delete it again if you still want to.",
    );
  }
}
