import alert from "lucide-static/icons/triangle-alert.svg?raw";
import archive from "lucide-static/icons/archive.svg?raw";
import arrowLeft from "lucide-static/icons/arrow-left.svg?raw";
import arrowUp from "lucide-static/icons/arrow-up.svg?raw";
import arrows from "lucide-static/icons/arrow-left-right.svg?raw";
import ban from "lucide-static/icons/ban.svg?raw";
import book from "lucide-static/icons/book.svg?raw";
import bot from "lucide-static/icons/bot.svg?raw";
import box from "lucide-static/icons/box.svg?raw";
import building from "lucide-static/icons/building-2.svg?raw";
import calendar from "lucide-static/icons/calendar.svg?raw";
import chart from "lucide-static/icons/chart-no-axes-column.svg?raw";
import chat from "lucide-static/icons/message-square.svg?raw";
import check from "lucide-static/icons/square-check.svg?raw";
import chevronDown from "lucide-static/icons/chevron-down.svg?raw";
import chevronRight from "lucide-static/icons/chevron-right.svg?raw";
import clip from "lucide-static/icons/paperclip.svg?raw";
import close from "lucide-static/icons/x.svg?raw";
import coins from "lucide-static/icons/coins.svg?raw";
import command from "lucide-static/icons/command.svg?raw";
import copy from "lucide-static/icons/copy.svg?raw";
import document from "lucide-static/icons/file-text.svg?raw";
import download from "lucide-static/icons/download.svg?raw";
import external from "lucide-static/icons/external-link.svg?raw";
import eye from "lucide-static/icons/eye.svg?raw";
import file from "lucide-static/icons/file.svg?raw";
import flag from "lucide-static/icons/flag.svg?raw";
import folder from "lucide-static/icons/folder.svg?raw";
import gear from "lucide-static/icons/settings.svg?raw";
import image from "lucide-static/icons/image.svg?raw";
import inbox from "lucide-static/icons/inbox.svg?raw";
import info from "lucide-static/icons/info.svg?raw";
import key from "lucide-static/icons/key-round.svg?raw";
import link from "lucide-static/icons/link.svg?raw";
import list from "lucide-static/icons/list.svg?raw";
import map from "lucide-static/icons/map.svg?raw";
import menu from "lucide-static/icons/menu.svg?raw";
import more from "lucide-static/icons/ellipsis.svg?raw";
import pen from "lucide-static/icons/pencil.svg?raw";
import people from "lucide-static/icons/users.svg?raw";
import person from "lucide-static/icons/user.svg?raw";
import phone from "lucide-static/icons/smartphone.svg?raw";
import pin from "lucide-static/icons/pin.svg?raw";
import play from "lucide-static/icons/play.svg?raw";
import plus from "lucide-static/icons/plus.svg?raw";
import pulse from "lucide-static/icons/activity.svg?raw";
import refresh from "lucide-static/icons/refresh-cw.svg?raw";
import ruler from "lucide-static/icons/ruler.svg?raw";
import scale from "lucide-static/icons/scale.svg?raw";
import scroll from "lucide-static/icons/scroll-text.svg?raw";
import search from "lucide-static/icons/search.svg?raw";
import share from "lucide-static/icons/share-2.svg?raw";
import shield from "lucide-static/icons/shield-check.svg?raw";
import signOut from "lucide-static/icons/log-out.svg?raw";
import star from "lucide-static/icons/star.svg?raw";
import stop from "lucide-static/icons/square.svg?raw";
import table from "lucide-static/icons/table.svg?raw";
import tag from "lucide-static/icons/tag.svg?raw";
import target from "lucide-static/icons/target.svg?raw";
import trash from "lucide-static/icons/trash-2.svg?raw";
import truck from "lucide-static/icons/truck.svg?raw";
import undo from "lucide-static/icons/undo-2.svg?raw";
import upload from "lucide-static/icons/upload.svg?raw";

/** The console's icons by the name that the code and packs use (a record type's `icon`). */
export const ICONS = {
  alert,
  archive,
  arrowLeft,
  arrowUp,
  arrows,
  ban,
  book,
  bot,
  box,
  building,
  calendar,
  chart,
  chat,
  check,
  chevronDown,
  chevronRight,
  clip,
  close,
  coins,
  command,
  copy,
  document,
  download,
  external,
  eye,
  file,
  flag,
  folder,
  gear,
  image,
  inbox,
  info,
  key,
  link,
  list,
  map,
  menu,
  more,
  pen,
  people,
  person,
  phone,
  pin,
  play,
  plus,
  pulse,
  refresh,
  ruler,
  scale,
  scroll,
  search,
  share,
  shield,
  signOut,
  star,
  stop,
  table,
  tag,
  target,
  trash,
  truck,
  undo,
  upload,
} as const;

export type IconName = keyof typeof ICONS;
