/** One question to one or two models, side by side: what they say, how long it takes, what it uses. */
import { type FormEvent, useState } from "react"
import { call, requestFor } from "../../api.ts"
import { curlOf } from "../../derived/request.ts"
import { href } from "../../router.ts"
import { Copy } from "../../ui/copy.tsx"
import { useLoaded } from "../../ui/load.ts"
import { Problem } from "../../ui/problem.tsx"
import type { ScreenProps } from "../props.ts"

interface Model {
  readonly id: string
  readonly capabilities: readonly string[]
  readonly available: boolean
  readonly pricing: { readonly prompt: string; readonly completion: string } | null
}

interface Completion {
  readonly choices: readonly { readonly message?: { readonly content?: unknown } }[]
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number }
}

interface Answer {
  readonly model: string
  readonly isRunning: boolean
  readonly text?: string
  readonly note?: string
  readonly curl?: string
  readonly error?: unknown
}

const TOKENS_DEFAULT = 512
const SIDES = ["First", "Second"] as const

const textOf = ({ choices }: Completion): string => {
  const content = choices[0]?.message?.content
  return typeof content === "string" ? content : JSON.stringify(content ?? null, null, 2)
}

const priceOf = (
  { prompt_tokens = 0, completion_tokens = 0 }: NonNullable<Completion["usage"]>,
  model?: Model,
) => {
  if (!model?.pricing) return ""
  const price =
    prompt_tokens * Number(model.pricing.prompt) + completion_tokens * Number(model.pricing.completion)
  return Number.isFinite(price) ? ` · $${price.toFixed(6)}` : ""
}

const noteOf = ({ usage }: Completion, ms: number, model: Model | undefined): string => {
  if (!usage) return `${ms.toLocaleString("en")} ms`
  const { prompt_tokens = 0, completion_tokens = 0 } = usage
  return `${ms.toLocaleString("en")} ms · ${prompt_tokens} + ${completion_tokens} tokens${priceOf(usage, model)}`
}

const AnswerView = ({
  answer: { model, isRunning, text, note, curl, error },
}: {
  readonly answer: Answer
}) => (
  <section className="panel" aria-label={`Answer of ${model}`} aria-live="polite" aria-busy={isRunning}>
    <div className="head">
      <h2>{model}</h2>
      {curl && <Copy text={curl} what="Copy as curl" />}
    </div>
    {isRunning && <p className="soft">Answering …</p>}
    <Problem error={error} />
    {text !== undefined && <p className="answer">{text}</p>}
    {note && <p className="soft small number">{note}</p>}
  </section>
)

const Playground = ({
  models,
  surroundings,
}: { readonly models: readonly Model[] } & Pick<ScreenProps, "surroundings">) => {
  const [chosen, setChosen] = useState<readonly string[]>([models[0]?.id ?? "", ""])
  const [system, setSystem] = useState("")
  const [question, setQuestion] = useState("")
  const [tokens, setTokens] = useState(TOKENS_DEFAULT)
  const [answers, setAnswers] = useState<readonly Answer[]>([])
  const change = (model: string, fields: Partial<Answer>) =>
    setAnswers(known => known.map(answer => (answer.model === model ? { ...answer, ...fields } : answer)))

  const ask = async (model: string) => {
    const messages = [
      ...(system === "" ? [] : [{ role: "system", content: system }]),
      { role: "user", content: question },
    ]
    const fields = { model, messages, max_tokens: tokens }
    change(model, { curl: curlOf(await requestFor("chatCompletion", fields, surroundings)) })
    const start = performance.now()
    try {
      const completion = await call<Completion>("chatCompletion", fields, surroundings)
      const ms = Math.round(performance.now() - start)
      const note = noteOf(
        completion,
        ms,
        models.find(({ id }) => id === model),
      )
      change(model, { isRunning: false, text: textOf(completion), note })
    } catch (error) {
      change(model, { isRunning: false, error })
    }
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const asked = [...new Set(chosen.filter(model => model !== ""))]
    setAnswers(asked.map(model => ({ model, isRunning: true })))
    for (const model of asked) void ask(model)
  }
  return (
    <>
      <form className="play" aria-label="Question" onSubmit={submit}>
        <div className="settings">
          {SIDES.map((side, at) => (
            <div className="field" key={side}>
              <label htmlFor={`model-${at}`}>{side} model</label>
              <select
                id={`model-${at}`}
                value={chosen[at]}
                onChange={event =>
                  setChosen(chosen.map((model, other) => (other === at ? event.target.value : model)))
                }
              >
                {at > 0 && <option value="">none</option>}
                {models.map(({ id }) => (
                  <option key={id}>{id}</option>
                ))}
              </select>
            </div>
          ))}
          <div className="field">
            <label htmlFor="tokens">At most (tokens)</label>
            <input
              id="tokens"
              type="number"
              min={1}
              max={32_000}
              value={tokens}
              onChange={event => setTokens(event.target.valueAsNumber || 1)}
            />
          </div>
        </div>
        <div className="field">
          <label htmlFor="system">Instructions</label>
          <input id="system" value={system} onChange={event => setSystem(event.target.value)} />
        </div>
        <div className="field">
          <label htmlFor="question">Question</label>
          <textarea
            id="question"
            required
            rows={4}
            value={question}
            onChange={event => setQuestion(event.target.value)}
            onKeyDown={event => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey))
                event.currentTarget.form?.requestSubmit()
            }}
          />
        </div>
        <p className="buttons">
          <button type="submit" disabled={answers.some(({ isRunning }) => isRunning)}>
            Ask <kbd>Ctrl Enter</kbd>
          </button>
        </p>
      </form>
      <div className="answers">
        {answers.map(answer => (
          <AnswerView key={answer.model} answer={answer} />
        ))}
      </div>
    </>
  )
}

export const PlaygroundPage = ({ surroundings }: ScreenProps) => {
  const loaded = useLoaded(`models ${surroundings.project}`, async () => {
    const { data } = await call<{ readonly data: readonly Model[] }>("listModels", {}, surroundings, {
      quiet: true,
    })
    return data.filter(({ capabilities, available }) => available && capabilities.includes("chat"))
  })
  return (
    <>
      <div className="head">
        <h1>AI playground</h1>
        <a href={href("api/listModels")}>Models</a>
        <a href={href("api/listAiUpstreams")}>Upstreams</a>
      </div>
      {loaded.state === "loading" && <p className="soft">Loading …</p>}
      <Problem error={loaded.state === "failed" ? loaded.reason : undefined} />
      {loaded.state === "ready" && loaded.value.length === 0 && (
        <div className="empty">
          <p>
            <strong>No model answers here yet.</strong> Models come from an upstream: a program on this
            machine, such as Ollama, or a provider with your own key.
          </p>
          <p>
            <a href={href("api/createAiUpstream")}>Add an upstream</a>
          </p>
        </div>
      )}
      {loaded.state === "ready" && loaded.value.length > 0 && (
        <Playground models={loaded.value} surroundings={surroundings} />
      )}
    </>
  )
}
