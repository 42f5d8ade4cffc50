/** A new key: what it is for, what it may do, and the secret once. */
import { type FormEvent, useState } from "react"
import { call } from "../../api.ts"
import type { Surroundings } from "../../derived/request.ts"
import { root } from "../../root.ts"
import { Copy } from "../../ui/copy.tsx"
import { Problem } from "../../ui/problem.tsx"
import { bodyOf, type Draft, matrixOf, type Scope, templates } from "./templates.ts"

const EMPTY: Draft = {
  name: "",
  type: "secret",
  scopes: new Set(),
  read_only: false,
  require_approval: false,
  of: "project",
  days: "90",
}

export const Secret = ({ secret, name }: { readonly secret: string; readonly name: string }) => {
  const curl = `curl ${location.origin}${root}/v1/me -H 'Authorization: Bearer ${secret}'`
  return (
    <div className="notice" role="status">
      <p>
        <strong>The secret of {name} is shown here once.</strong> Keep it now.
      </p>
      <div className="code-box">
        <Copy text={secret} />
        <pre className="secret-text">{secret}</pre>
      </div>
      <p className="soft small">
        Try it: <Copy text={curl} what="Copy a curl with it" />
      </p>
    </div>
  )
}

const Matrix = ({
  scopes,
  chosen,
  onChange,
}: {
  readonly scopes: readonly Scope[]
  readonly chosen: ReadonlySet<string>
  readonly onChange: (chosen: ReadonlySet<string>) => void
}) => {
  const set = (names: readonly string[], isOn: boolean) => {
    const next = new Set(chosen)
    for (const name of names) {
      if (isOn) next.add(name)
      else next.delete(name)
    }
    onChange(next)
  }
  return (
    <fieldset className="field matrix">
      <legend>
        Scopes <span className="soft small">{chosen.size} chosen</span>
      </legend>
      {matrixOf(scopes).map(({ service, scopes: own }) => {
        const names = own.map(({ name }) => name)
        return (
          <div key={service} className="matrix-row">
            <label className="tick matrix-service">
              <input
                type="checkbox"
                checked={names.every(name => chosen.has(name))}
                onChange={event => set(names, event.target.checked)}
              />
              {service}
            </label>
            <span className="choices">
              {own.map(({ name, action, description }) => (
                <label key={name} title={description}>
                  <input
                    type="checkbox"
                    aria-label={`${name}: ${description}`}
                    checked={chosen.has(name)}
                    onChange={event => set([name], event.target.checked)}
                  />
                  {action}
                </label>
              ))}
            </span>
          </div>
        )
      })}
    </fieldset>
  )
}

const Templates = ({
  scopes,
  onChoose,
}: {
  readonly scopes: readonly Scope[]
  readonly onChoose: (draft: Partial<Draft>) => void
}) => (
  <ul className="cards templates" aria-label="What it is for">
    {templates.map(({ title, text, fill }) => (
      <li key={title}>
        <button type="button" className="card" onClick={() => onChoose(fill(scopes))}>
          <strong>{title}</strong>
          <span>{text}</span>
        </button>
      </li>
    ))}
  </ul>
)

const TYPES: Readonly<Record<Draft["type"], string>> = {
  secret: "Secret: chosen scopes",
  service_account: "Service account: chosen scopes",
  full_access: "Full access: every scope of resources",
  publishable: "Publishable: for web pages",
}
const LIFETIMES = [
  ["7", "a week"],
  ["30", "30 days"],
  ["90", "90 days"],
  ["365", "a year"],
  ["", "for ever"],
] as const

const Settings = ({
  draft,
  change,
}: {
  readonly draft: Draft
  readonly change: (fields: Partial<Draft>) => void
}) => (
  <div className="settings">
    <div className="field">
      <label htmlFor="key-name">Name</label>
      <input
        id="key-name"
        required
        maxLength={100}
        autoComplete="off"
        value={draft.name}
        onChange={event => change({ name: event.target.value })}
      />
    </div>
    <div className="field">
      <label htmlFor="key-type">Type</label>
      <select
        id="key-type"
        value={draft.type}
        onChange={event => change({ type: event.target.value as Draft["type"] })}
      >
        {Object.entries(TYPES).map(([type, text]) => (
          <option key={type} value={type}>
            {text}
          </option>
        ))}
      </select>
    </div>
    {draft.type !== "publishable" && (
      <>
        <div className="field">
          <label htmlFor="key-of">Reaches</label>
          <select
            id="key-of"
            value={draft.of}
            onChange={event => change({ of: event.target.value as Draft["of"] })}
          >
            <option value="project">this project</option>
            <option value="organization">the whole organization</option>
          </select>
        </div>
        <div className="field">
          <label htmlFor="key-days">Works for</label>
          <select id="key-days" value={draft.days} onChange={event => change({ days: event.target.value })}>
            {LIFETIMES.map(([days, text]) => (
              <option key={days} value={days}>
                {text}
              </option>
            ))}
          </select>
        </div>
        <div className="ticks">
          <label className="tick">
            <input
              type="checkbox"
              checked={draft.require_approval}
              onChange={event => change({ require_approval: event.target.checked })}
            />
            High-risk calls wait for a person
          </label>
          <label className="tick">
            <input
              type="checkbox"
              checked={draft.read_only}
              onChange={event => change({ read_only: event.target.checked })}
            />
            Only reads
          </label>
        </div>
      </>
    )}
  </div>
)

export interface Made {
  readonly name: string
  readonly secret?: string
}

export const MakeKey = ({
  scopes,
  surroundings,
  onMade,
  onClose,
}: {
  readonly scopes: readonly Scope[]
  readonly surroundings: Surroundings
  readonly onMade: (made: Made) => void
  readonly onClose: () => void
}) => {
  const [draft, setDraft] = useState(EMPTY)
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const change = (fields: Partial<Draft>) => setDraft(known => ({ ...known, ...fields }))
  const hasScopes = draft.type === "secret" || draft.type === "service_account"
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      onMade(await call<Made>("createKey", bodyOf(draft, surroundings.project), surroundings))
    } catch (refused) {
      setError(refused)
      setBusy(false)
    }
  }
  return (
    <form className="panel" aria-label="New key" onSubmit={submit}>
      <h2>New key</h2>
      <Templates scopes={scopes} onChoose={change} />
      <Settings draft={draft} change={change} />
      {hasScopes && (
        <Matrix scopes={scopes} chosen={draft.scopes} onChange={chosen => change({ scopes: chosen })} />
      )}
      <Problem error={error} />
      <p className="buttons">
        <button type="submit" disabled={isBusy || (hasScopes && draft.scopes.size === 0)}>
          Make the key
        </button>
        <button type="button" className="quiet" onClick={onClose}>
          Cancel
        </button>
      </p>
    </form>
  )
}
