import type { ReactNode } from "react"
import { useState } from "react"
import { Modal } from "./modal.tsx"

/** Asks before something is done that may not be undone. `typed`: what has to be typed first. */
export const Ask = ({
  title,
  verb,
  typed,
  children,
  onYes,
  onNo,
}: {
  readonly title: string
  readonly verb: string
  readonly typed?: string
  readonly children: ReactNode
  readonly onYes: () => void
  readonly onNo: () => void
}) => {
  const [text, setText] = useState("")
  return (
    <Modal label={title} onClose={onNo}>
      <h2>{title}</h2>
      {children}
      {typed !== undefined && (
        <div className="field">
          <label htmlFor="ask-typed">
            Type <code>{typed}</code>
          </label>
          <input
            id="ask-typed"
            autoComplete="off"
            value={text}
            onChange={event => setText(event.target.value)}
          />
        </div>
      )}
      <p className="buttons">
        <button
          type="button"
          className="danger"
          disabled={typed !== undefined && text !== typed}
          onClick={onYes}
        >
          {verb}
        </button>
        <button type="button" className="quiet" onClick={onNo}>
          Cancel
        </button>
      </p>
    </Modal>
  )
}
