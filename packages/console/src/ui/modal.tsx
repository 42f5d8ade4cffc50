import { type ReactNode, useEffect, useRef } from "react"

/** A dialog above the page. The browser keeps the focus inside, and gives it back. */
export const Modal = ({
  label,
  onClose,
  className,
  children,
}: {
  readonly label: string
  readonly onClose: () => void
  readonly className?: string
  readonly children: ReactNode
}) => {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const { current } = dialog
    if (current && !current.open) current.showModal()
    return () => current?.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      aria-label={label}
      className={className}
      onCancel={event => {
        event.preventDefault()
        onClose()
      }}
      onPointerDown={event => {
        if (event.target === dialog.current) onClose()
      }}
    >
      <div className="dialog-body">{children}</div>
    </dialog>
  )
}
