import { useEffect, useRef, useState } from "preact/hooks";
import { body, type Schema } from "../../../api/client";
import { Problem } from "../../../api/problem";
import { api } from "../../../api/sign_in";
import { Button } from "../../../ui/Button";
import { CitedText } from "../../../ui/CitedText";
import { Field } from "../../../ui/Field";
import { useAction } from "../../../ui/resource";
import { Notice } from "../../../ui/states";
import { problemWords } from "./pulse_words";

const ANSWER_MS = { most: 120_000, pause: 2_000 };

/** A question about the record. The answer rests on the Pulse's sources, and only the asker sees it. */
export function PulseQuestion({ type, recordKey }: { type: string; recordKey: string }) {
  const [text, setText] = useState("");
  const [asked, setAsked] = useState("");
  const [answer, setAnswer] = useState<Schema["QuestionAnswerView"]>();
  const isShown = useRef(true);
  useEffect(() => {
    isShown.current = true;
    return () => void (isShown.current = false);
  }, []);
  const ask = useAction(async () => {
    const question = text.trim();
    if (!question) return;
    const path = { type_key: type, key: recordKey };
    const { question_id } = await body(
      api.POST("/v1/entities/{type_key}/{key}/pulse/refresh", { params: { path }, body: { question } }),
    );
    if (!question_id) throw new Problem(0, "unanswered", "The question was not taken. Ask it again.");
    setAsked(question);
    setAnswer(undefined);
    setText("");
    const until = Date.now() + ANSWER_MS.most;
    while (isShown.current && Date.now() < until) {
      const params = { path: { ...path, question_id } };
      const found = await body(api.GET("/v1/entities/{type_key}/{key}/pulse/questions/{question_id}", { params }));
      if (found.answered_at || found.problem) return setAnswer(found);
      await new Promise((resolve) => setTimeout(resolve, ANSWER_MS.pause));
    }
    if (isShown.current) throw new Problem(0, "late", "There is no answer yet. Ask again in a while.");
  });
  return (
    <>
      <form class="records-ask" onSubmit={(event) => (event.preventDefault(), ask.run())}>
        <Field label="Ask about this record" hint="Only you see the answer.">
          {(attributes) => (
            <input
              {...attributes}
              maxLength={1_000}
              autocomplete="off"
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          )}
        </Field>
        <Button type="submit" disabled={ask.isRunning || !text.trim()}>
          Ask
        </Button>
      </form>
      <div class="records-answer" aria-live="polite">
        {asked && <p class="records-question">{asked}</p>}
        {ask.isRunning && asked && <p class="soft">Searching …</p>}
        {answer && <Answer answer={answer} />}
      </div>
      <Notice problem={ask.problem} />
    </>
  );
}

function Answer({ answer }: { answer: Schema["QuestionAnswerView"] }) {
  if (answer.is_withheld) return <p class="soft">The answer rests on something that you may not see any more.</p>;
  if (answer.markdown) return <CitedText text={answer.markdown} citations={answer.citations} hasSources />;
  return (
    <p class="soft">No answer{answer.problem ? `: ${problemWords(answer.problem)}` : ""}. Ask again in a while.</p>
  );
}
