"""A person who talks to a bot through the emulator of scripts/telegram_server.cjs; used by scripts/telegram.sh.

    telegram_person.py URL say NUMBER TEXT      writes to the bot in private
    telegram_person.py URL press NUMBER LABEL   presses the button with this label on the newest message that has it
    telegram_person.py URL hears NUMBER PART    waits until the bot has said PART there, and prints all it said
    telegram_person.py URL count NUMBER PART    prints how many of the bot's messages there have PART in them
    telegram_person.py URL asked                prints the last update's number and the last offset that was asked for"""
import json, sys, time, urllib.request

url, verb, *rest = sys.argv[1:]
TOKEN = 'sampleToken'


def post(path, body):
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {'content-type': 'application/json'})
    return json.load(urllib.request.urlopen(request, timeout=10))


def history():
    return post('/getUpdatesHistory', {'token': TOKEN})['result']


def texts(number):
    """What the bot said; messages of people have a `chat` and no `chat_id`."""
    said = [entry['message'] for entry in history() if 'message' in entry]
    return [message.get('text', '') for message in said if str(message.get('chat_id')) == number]


if verb == 'say':
    number, text = rest
    post('/sendMessage', {
        'botToken': TOKEN, 'from': {'id': int(number), 'first_name': 'Ada', 'username': 'ada'},
        'chat': {'id': int(number), 'type': 'private', 'first_name': 'Ada'}, 'date': int(time.time()), 'text': text})
elif verb == 'press':
    number, label = rest
    for entry in reversed(history()):
        rows = entry.get('message', {}).get('reply_markup', {}).get('inline_keyboard', [])
        data = [button['callback_data'] for row in rows for button in row if button['text'] == label]
        if data:
            post('/sendCallback', {
                'botToken': TOKEN, 'from': {'id': int(number), 'first_name': 'Ada'}, 'data': data[0],
                'message': {'message_id': entry['messageId'], 'chat': {'id': int(number), 'type': 'private'}}})
            sys.exit(0)
    sys.exit(f'no button {label!r}')
elif verb == 'hears':
    number, part = rest
    for _ in range(600):
        said = texts(number)
        if any(part in text for text in said):
            print('\n'.join(said))
            sys.exit(0)
        time.sleep(0.1)
    sys.exit(f'nothing with {part!r} among {said}')
elif verb == 'count':
    number, part = rest
    print(sum(part in text for text in texts(number)))
elif verb == 'asked':
    updates = [entry['updateId'] for entry in history() if 'chat_id' not in entry.get('message', {})]
    offsets = json.load(urllib.request.urlopen(url + '/offsets', timeout=10))
    print(max(updates), offsets[-1])
