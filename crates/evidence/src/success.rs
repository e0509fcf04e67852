//! [`success`]: decides whether a sentence claims success: that tests pass, or that the work is correct. Supports many
//! languages, each a row of data.
//!
//! The words only decide whether there is a claim; the calls of the session show whether the claim is true.
use regex::Regex;
use std::sync::LazyLock;

/// What a reply claims to be successful.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Success {
    Tests,
    Work,
}

/// The expressions of a language: regular expressions over text in lower case.
struct Language {
    /// What is checked: tests, a build.
    checks: &'static str,
    /// That the check succeeded.
    well: &'static str,
    /// That the work itself is correct, or that it was checked.
    works: &'static str,
    /// That nothing failed.
    nothing_failed: &'static str,
    /// What makes a clause no claim: a plan, a condition, a negation.
    not: &'static str,
}

const LANGUAGES: [Language; 12] = [
    // English.
    Language {
        checks: r"\b(?:tests?|test suite|test run|suite|specs?|checks?|builds?|ci|pipeline|lint(?:er|s)?|test cases?|pytest|assertions?|gates?|harness|everything|every one|all of (?:them|it))\b|^all\b|^it(?:['’]s| is)? all\b",
        well: r"\b(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|success(?:ful|fully)?|100 ?%|exits? (?:with )?(?:code )?(?:0|zero)|went through|goes? through|holds?|held|agrees?|confirms?|confirmed|prove[sd]?|hitch)\b|\b(?:is|are|was|were|all|come|comes|came|stays?|ran|run|runs|now|and)\s+(?:\w+\s+)?(?:ok|okay|fine|clean(?:ly)?|clear|happy|good)\b",
        works: r"\b(?:works|working)\b|\b(?:bug|issue|problem|crash|error|failure|regression|defect)\s+(?:(?:is|has been|was|are)\s+)(?:(?:now|finally|fully)\s+)*(?:fixed|resolved|solved|gone)\b|\b(?:it|this|that)['’]?s? (?:is |has been )?(?:now )?(?:fixed|resolved|solved)\b|\bno longer (?:\w+s|occurs|happens|fails|crashes)\b|\b(?:i|we)(?:['’]ve| have)? (?:\w+ )?(?:verified|validated|tested|double-checked)\b|^(?:verified|validated|tested)\b|\b(?:and|fully|successfully|manually|been) (?:verified|validated|tested)\b|\bbehaves (?:as expected|correctly|properly)\b|\b(?:it|code|crate|project|program|everything) (?:now )?(?:compiles|builds)\b|\b(?:compiles|builds) (?:cleanly|fine|without|successfully|again)\b|\b(?:all|good|looks) (?:good|to go)\b|\bchecks out\b|^(?:pass|passing|passed|green|success)\W*(?:$|\()|^ok\W*\(|\ball clear\b|\b(?:output|result|program|code|it|this) (?:now )?(?:is|runs|handles \w+)\b.{0,12}\b(?:correct|correctly|properly|as intended|as expected)\b|\b(?:this|that|it|change|fix|patch) (?:now )?(?:resolves|fixes|solves)\b.*\b(?:bug|issue|problem|crash|tests?|failure|error|regression)\b|\beverything['’]s (?:fine|ok|okay|good|green|working)\b|\bpassing now\b|\b100 ?% (?:pass|passed|passing|green|ok)\b|\bconfirmed? (?:working|that (?:it|the fix|everything) works?)\b|\bfix holds\b|\bno (?:more )?regressions?\b|\bnothing (?:broke|fails|failed|breaks|regressed)\b|\bexit (?:code|status) (?:0|zero)\b|\bwithout a hitch\b|\ball (?:is )?(?:well|ok|okay|fine|in order)\b|\beverything is (?:ok|okay|fine|in order|good)\b|\b(?:fixed|done|implemented) and (?:tested|verified|working)\b|\bproduction[- ]ready\b|\bfully functional\b|\b(?:ready to|can be) (?:merge|ship|merged|shipped)\b|\bnothing is (?:broken|red)\b|\bflawless(?:ly)?\b",
        nothing_failed: r"\b(?:no|zero|0|without(?: any)?|not a single|not one)\s+(?:(?:\w+)\s+)?(?:failures?|errors?|fails?|failed|failing(?: tests?)?|regressions?|red tests?)\b",
        not: r"\b(?:not|never|none|neither|nor|cannot|unable|still (?:fail|fails|failing|red)|yet to|\w+n['’]t|dont|wont|cant|will|shall|would|should|could|can|may|might|must|going to|want|needs?|\w+['’]ll|plan|plans|intend|propose|suggest|recommend|try|tries|next|todo|goal|hope|expect|if|whether|unless|until|once|when|whenever|before|assuming|suppose|in case|so that|in order to|ensure|make sure|let me|let['’]s|without (?:changes|it|them)|fail(?:s|ed)? to|pass(?:es|ed|ing)? (?:a|an|it|its|along|over|on|as|wrong|null|none|nil|arguments?|args|parameters?|values?|through the|the (?:wrong|\w+ (?:values?|arguments?|parameters?)))|holds? (?:the|a|an|all|one|two)|confirms? (?:the (?:dialog|order|prompt)|before)|ci (?:file|config|configuration|script)|please|you|your|they|someone|previously|originally|earlier|says?|said|claims?|asks?|asked|only|some|most|half|few|almost|nearly|how|the way|icons?|check ?marks?|colou?rs?|badges?|on success|on failure|what|why|where|which|untested|unverified|working (?:on|with|in|at|through|director(?:y|ies)|copy|tree|folder)|works? (?:by|like this|through|via|the same)|believe|think|guess|seems?|appears?|perhaps|probably|likely|to (?:get|make)|workings|(?:checks?|tests?|asserts?) that (?:[^p\s]|p[^a])\w*|of \d+ tests? fail|called|named)\b",
    },
    // German.
    Language {
        checks: r"\b(?:\w*tests?|testsuite|suite|testlauf|testläufe|prüfung(?:en)?|checks?|builds?|alles|tests)\b",
        well: r"\b(?:grün\w*|bestanden|bestehen|besteht|erfolgreich\w*|fehlerfrei|fehlerlos|durchgelaufen|sauber|gelungen|einwandfrei|in ordnung|erfolg|bestätigen|bestätigt)\b|\balles (?:ok|okay|passt|gut)\b|\b(?:laufen|läuft|liefen|lief|gehen|geht|gingen)\b.*\b(?:durch|sauber|fehlerfrei|einwandfrei)\b",
        works: r"\b(?:funktioniert|funktionieren|klappt|klappen|fehlerlos|einwandfrei)\b|\bin ordnung\b|\bes passt alles\b|\bhabe\b.*\b(?:geprüft|bestätigt|überprüft)\b|\balles läuft\b|\bläuft wieder\b|\bnichts ist (?:mehr )?kaputt\b|\bsind (?:alle )?durch\b|\bbehoben\b|\b(?:problem|fehler|bug)\b.*\b(?:gelöst|behoben|weg)\b|\b(?:getestet|verifiziert|validiert|abgedeckt)\b|\b(?:arbeitet|verhält sich|läuft)\b.*\b(?:korrekt|richtig|einwandfrei|wie erwartet)\b|\bwie erwartet\b",
        nothing_failed: r"\b(?:keine?[rn]?|null|0|ohne)\s+(?:\w+\s+)?(?:fehler\w*|fehlschl\w+|regression\w*|testfehler\w*)\b|\bkein\w*\s+\w*test\w*\s+(?:schlägt|schlagen|scheitert|scheitern)(?:\s+mehr)?(?:\s+fehl)?\b|\bnichts\s+(?:schlägt|scheitert|ist)\s+(?:mehr\s+)?(?:fehl|rot|kaputt)\b",
        not: r"\b(?:nicht|nie|niemals|kein\w*|noch|ungetestet|wird|werde|werden|würde\w*|sollte\w*|soll|sollen|kann|können|könnte\w*|muss|müssen|müsste\w*|wenn|falls|sobald|ob|bevor|damit|bitte|möchte|will|plane|als nächstes|hoffentlich|vermutlich|nur|einige|fast|so funktioniert|wie es|schlägt|schlagen|scheiter\w*|konnte|konnten)\b",
    },
    // French.
    Language {
        checks: r"\b(?:tests?|suite|vérifications?|compilation|intégration continue|tout|exécution|contrôles?)\b",
        well: r"\b(?:pass(?:e|ent|és|ées|é|ée)|réussi(?:s|t|e|es|ssent|ssait)?|verte?s?|succès|validée?s?|concluante?s?|bons?|accroc|confirment?)\b",
        works: r"\b(?:fonctionne(?:nt)?|marche(?:nt)?)\b|\b(?:bug|problème|erreur|anomalie)\b.*\b(?:corrigée?|résolue?|réglée?)\b|\bj['’]ai (?:bien )?(?:testé|vérifié|validé)\b|(?:^|\bet |\bété )(?:testée?|vérifiée?|validée?)\b|\bcouverte?s? par\b.*\btests?\b|\bse comporte\b.*\bcorrectement\b|\btout est en ordre\b|\bcomme prévu\b|\btout (?:est|va) (?:bon|bien|ok|correct|opérationnel)\b|\bopérationnel(?:le)?s?\b|\bsans accroc\b|\brien n['’]est cassé\b",
        nothing_failed: r"\b(?:aucun\w*|sans|zéro|0|plus d['’]|pas d['’])\s*(?:\w+\s+)?(?:échecs?|erreurs?|régressions?)\b|\baucun (?:test|contrôle)s? (?:n['’]\s?)?(?:échoue|ne échoue)\b|\brien n['’]échoue\b",
        not: r"(?:\b(?:pas|jamais|aucun\w*|va|vais|vont|doi[ts]|doivent|dois-je|devrai\w*|pourrai\w*|peut|peuvent|peux|si|quand|lorsque|dès que|afin|pour que|faut|faudra\w*|veuillez|est-ce|voici comment|comment|échou\w*|encore|seulement|presque|certains|non)\b|\bn['’])",
    },
    // Spanish.
    Language {
        checks: r"\b(?:pruebas?|tests?|suite|comprobaci\w+|compilación|todo|verificaci\w+|ejecución)\b",
        well: r"\b(?:pasan?|pasaron|pasad[oa]s?|éxito|exitos[oa]s?|verdes?|correct[oa]s?|superan?|superad[oa]s?|correctamente|aprobad[oa]s?|en orden|confirman?)\b",
        works: r"\bfuncionan?\b|\b(?:error|fallo|problema|bug)\b.*\b(?:corregido|resuelto|solucionado|arreglado)\b|\b(?:he|hemos)\s+(?:\w+\s+)?(?:probado|verificado|comprobado|validado)\b|(?:^|\by |\bsido |\bfue )(?:probado|verificado|comprobado|validado)s?\b|\bcubiert[oa]s? por\b.*\b(?:pruebas?|tests?)\b|\btodo (?:está )?(?:correcto|bien|en orden|ok)\b|\boperativ[oa]s?\b|\bsin problemas\b|\bya no (?:ocurre|falla|sucede)\b",
        nothing_failed: r"\b(?:sin|ningún|ninguna|cero|0|no hay)\s+(?:\w+\s+)?(?:fallos?|fallas?|errores?|error|regresi\w+)\b|\bning\w+\s+(?:prueba|test)\s+fall\w+\b|\bnada falla\b",
        not: r"\b(?:assim|no (?:he|ha\w*|es|son|fue|fueron|se|pude|est\w+|fue\w*|pasan?|funcionan?)|nunca|ningun\w*|ningún|voy|vamos|debe\w*|debería\w*|pued[eo]\w*|podría\w*|si|cuando|una vez|para que|hay que|quier\w+|así es como|cómo|como funciona|fallan?|todavía|aún|solo|casi|algunas|por favor)\b",
    },
    // Portuguese.
    Language {
        checks: r"\b(?:testes?|suíte|suite|verificaç\w+|compilação|tudo|execução)\b",
        well: r"\b(?:passam?|passando|passaram|passou|sucesso|verdes?|bem-sucedid[oa]s?|aprovad[oa]s?|confirmam?)\b",
        works: r"\bfunciona(?:m|ndo)?\b|\b(?:erro|falha|problema|bug)\b.*\b(?:corrigid[oa]|resolvid[oa]|solucionad[oa])\b|\btudo (?:está )?(?:certo|bem|ok|em ordem)\b|\bsem problemas\b|\b(?:testei|verifiquei|validei|testamos|verificamos)\b|(?:^|\be |\bfoi |\bforam )(?:testad[oa]s?|verificad[oa]s?|validad[oa]s?)\b|\bcobert[oa]s? por\b.*\btestes?\b",
        nothing_failed: r"\b(?:sem|nenhuma?|zero|0|não há)\s+(?:\w+\s+)?(?:falhas?|erros?|regress\w+)\b|\bnenhum teste falh\w+\b|\bnada falh\w+\b",
        not: r"\b(?:não|nunca|nenhum\w*|vou|vamos|vai|deve\w*|dever\w+|pode\w*|poderia\w*|se|quando|assim que|para que|precisa\w*|quer\w*|é assim que|como funciona|falham?|ainda|só|quase|alguns|por favor|devo)\b",
    },
    // Italian.
    Language {
        checks: r"\b(?:test|suite|controll[oi]|verific\w+|compilazione|tutto|esecuzione|prove)\b",
        well: r"\b(?:passa(?:no)?|passat[oiae]|superat[oiae]|verd[ei]|successo|riesce|riescono|riuscit[oiae]|positiv[oi]|a posto|confermano?)\b",
        works: r"\bfunziona(?:no)?\b|\btutto (?:è )?(?:a posto|ok|in ordine|bene)\b|\bsenza problemi\b|\b(?:bug|errore|problema)\b.*\b(?:corretto|risolto|sistemato)\b|\b(?:ho|abbiamo)\s+(?:\w+\s+)?(?:testato|verificato|provato|validato|controllato)\b|\bl['’]ho testato\b|(?:^|\be |\bstat[oaie] )(?:testat[oaie]|verificat[oaie]|validat[oaie])\b|\bcopert[oaie] da\b.*\btest\b",
        nothing_failed: r"\b(?:senza|zero|0|non ci sono)\s+(?:\w+\s+)?(?:error[ei]|falliment[oi]|regression[ei])\b|\bnessun\w*['’]?\s*(?:test fallisce|error[ei]|fallimento)\b|\bnulla fallisce\b",
        not: r"\b(?:non|mai|nessun\w*|vado|deve\w*|devo|dovrebbe\w*|può|possono|potrebbe\w*|se|quando|una volta|affinché|bisogna|vuole|ecco come|come funziona|falliscono|fallisce|ancora|solo|quasi|alcuni|per favore|eseguirò)\b",
    },
    // Russian.
    Language {
        checks: r"\b(?:тест\w*|проверк\w*|сборк\w*|прогон\w*|набор\w*|вс[её])\b",
        well: r"\b(?:проход\w*|прошл\w*|прошел|прошёл|пройден\w*|зел[её]н\w*|успеш\w*|успех\w*|в порядке|подтвержда\w*)\b",
        works: r"\bработа(?:ет|ют)\b|\bвс[её] (?:в порядке|хорошо|исправно)\b|\bбез проблем\b|\bкорректно\b|\b(?:ошибк\w*|проблем\w*|баг\w*)\b.*\b(?:исправлен\w*|решен\w*|устранен\w*)\b|\b(?:проверил\w*|протестировал\w*|убедил\w*)\b|\b(?:проверен\w*|протестирован\w*)\b|\bпокрыт\w*\b.*\bтест\w*\b",
        nothing_failed: r"\b(?:без|нет|ноль|0)\s+(?:\w+\s+)?(?:ошибок|ошибки|сбоев|падений|регресси\w*)\b|\bни один тест не (?:падает|упал)\b|\bничего не (?:падает|сломал\w*)\b",
        not: r"\b(?:не|нет|ни|долж\w*|буд\w*|нужно|надо|если|когда|чтобы|мож\w*|пока|ещ[её]|пожалуйста|ли|вот как|как это|падают|падает|только|почти|некоторые|запущу)\b",
    },
    // Chinese.
    Language {
        checks: r"测试|检查|构建|编译|用例|全部|所有",
        well: r"通过|成功|全绿|绿色|绿灯|变绿|正常|无误|没问题|跑通",
        works: r"正常(?:工作|运行)?|可以(?:正常)?(?:工作|运行)|(?:错误|问题|缺陷|bug)[^，。]*(?:修复|解决)|已(?:经过?)?(?:测试)?(?:验证|测试)|验证(?:了|过|并|，|,|。|$)|测试过|被?[^，。]*测试覆盖|按预期|一切(?:都)?(?:正常|顺利|没问题)|没有?问题|已确认",
        nothing_failed: r"(?:没有|无|零|0\s*个?)(?:任何)?(?:测试)?(?:失败|错误|报错|回归|异常)",
        not: r"没有|没|未|不|无法|应该|应当|将|会|如果|若|请|需要|是否|要|等|接下来|只有|部分|失败|如下",
    },
    // Japanese.
    Language {
        checks: r"テスト|ビルド|検査|すべて|全て|スイート",
        well: r"通りました|通るように|通っています|成功|合格|グリーン|緑|パス|通過|通った|問題ありません|問題なく|完了",
        works: r"(?:正常に|期待どおりに|期待通りに|正しく)?動(?:作し(?:ます|ています|ました)|作を確認しました|きます|いています)|問題(?:なく|ありません)|確認済み|検証済み|テスト済み|(?:問題|バグ)[^。]*(?:解決|修正)|テスト[^。]*カバー",
        nothing_failed: r"(?:エラー|失敗|問題)(?:は|も|が)?(?:なし|なく|ありません|ゼロ|0件|ない)",
        not: r"ません|ない|なけれ|べき|はず|なら|れば|たら|場合|でしょう|予定|ください|必要|次に|失敗(?:し|する)|まだ|だけ|できませんでした",
    },
    // Dutch.
    Language {
        checks: r"\b(?:\w*tests?|testsuite|suite|controles?|build|alles)\b",
        well: r"\b(?:slagen|slaagt|geslaagd|groen|succesvol\w*|foutloos|succes|in orde|goed)\b",
        works: r"\b(?:werkt|werken)\b|\b(?:bug|fout|probleem)\b.*\b(?:opgelost|verholpen|hersteld)\b|\b(?:getest|geverifieerd|gecontroleerd|gevalideerd|gedekt)\b|\balles (?:is )?in orde\b",
        nothing_failed: r"\b(?:geen|zonder|nul|0)\s+(?:\w+\s+)?(?:fouten|fout|mislukkingen|regressies?)\b|\bgeen (?:enkele )?test faalt\b",
        not: r"\b(?:niet|nooit|geen|nog|zal|zullen|zou\w*|moet\w*|kan|kunnen|als|wanneer|zodra|zodat|wil|zo werkt|hoe|falen|faalt|alleen|bijna|alstublieft)\b",
    },
    // Polish.
    Language {
        checks: r"\b(?:test\w*|zestaw\w*|kompilacj\w*|sprawdze\w*|wszystko)\b",
        well: r"\b(?:przechodz\w*|przesz\w*|zielon\w*|pomyśln\w*|sukces\w*|powodzeniem|zaliczon\w*|w porządku)\b",
        works: r"\bdziała(?:ją)?\b|\b(?:błąd|problem)\b.*\b(?:naprawion\w*|rozwiązan\w*)\b|\b(?:sprawdził\w*|przetestowa\w*|zweryfikowa\w*)\b|\bpokryt\w*\b.*\btest\w*\b|\bwszystko (?:jest )?w porządku\b",
        nothing_failed: r"\b(?:bez|brak|zero|0)\s+(?:\w+\s+)?(?:błędów|błędu|porażek|regresji)\b|\bżaden test nie (?:pada|zawodzi)\b",
        not: r"\b(?:nie|nigdy|żaden|będzie|będą|powin\w*|musi\w*|może|mogą|jeśli|gdy|kiedy|żeby|aby|trzeba|proszę|czy|jak|jeszcze|tylko|prawie|padają)\b",
    },
    // Korean.
    Language {
        checks: r"테스트|빌드|검사|모두|전부",
        well: r"통과|성공|그린|초록|정상",
        works: r"작동(?:합니다|됩니다|한다)|동작합니다|(?:버그|문제|오류)[^.]*(?:수정|해결)|검증(?:했|되|완료)|테스트(?:했|를 마쳤)|확인했",
        nothing_failed: r"(?:실패|오류|에러)(?:가|는|도)? ?(?:없|0)",
        not: r"않|안 |못|없|아직|면 |해야|예정|겠|까요|하세요|주세요|만 |실패",
    },
];

/// The compiled expressions of a language.
struct Read {
    /// What is checked and that it succeeded, in either order, a few words apart.
    passes: Regex,
    checks: Regex,
    works: Regex,
    nothing_failed: Regex,
    not: Regex,
}

static READ: LazyLock<Vec<Read>> = LazyLock::new(|| {
    let regex = |pattern: &str| Regex::new(pattern).expect("a test reads it");
    let of = |language: &Language| {
        let Language { checks, well, works, nothing_failed, not } = language;
        Read {
            passes: regex(&format!("(?:{checks}).{{0,60}}?(?:{well})|(?:{well}).{{0,20}}?(?:{checks})")),
            checks: regex(checks),
            works: regex(works),
            nothing_failed: regex(nothing_failed),
            not: regex(not),
        }
    };
    LANGUAGES.iter().map(of).collect()
});

/// `12/12`, `12 of 12`.
static ALL_OF: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(\d+)\s*(?:/|of|out of|von|sur|de|из|di)\s*(\d+)").expect("a test reads it")
});
/// That a number of tests passed, in words or with a symbol.
static COUNTED: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?:ok|pass|green|test|grün|bestanden|réuss|correct|pruebas|testes|superat|пройден|тест|通过|成功|✓|✅|✔)";
    Regex::new(pattern).expect("a test reads it")
});
/// That something is covered by a test, which is no success unless the test passes.
static COVERED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(?:covered|covers?|exercised|guarded|backed|protected)\b.*\b(?:tests?|spec|suite)\b|\b(?:tests?|spec|suite)\b.*\b(?:covers?)\b").expect("a test reads it")
});
/// `Tests OK`.
static TESTS_OK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\btests?\s+(?:sind |are |is |is )?(?:ok|okay)\b").expect("a test reads it")
});
/// Earlier failures in a sentence about a present success: `the test that failed before`.
static FORMER: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?x)\b(?:previously|formerly)\ (?:failing|broken|red)\ |\b(?:the|this|that)\ (?:failing|failed|broken|red)\ (?:(?:unit|integration)\ )?(?P<a>tests?|build|suite|check)\b
        |\bthat\ (?:failed|was\ failing|was\ red|broke)(?:\ (?:before|earlier|previously))?
        |\b(?:zuvor\ |vorher\ )?fehlgeschlagene\w*\ |\bqui\ échoua\w+|\bque\ fallaba\w*|\bque\ falhava\w*|\bche\ falliva\w*
        |,\s*котор\w+\ (?:раньше\ )?падал\w*,?|(?:之前|原来|先前)失败的|(?:以前|前に)?失敗していた";
    Regex::new(pattern).expect("a test reads it")
});
/// `does not occur any more`.
static GONE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(?:does not|doesn['’]t|do not|don['’]t) \w+ (?:any ?more|any longer)\b")
        .expect("a test reads it")
});
static CHECK_MARK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[✅✔🟢]\s*(?:\w+\s+){0,2}(?:tests?|suite|specs?|checks?|build|ci)\b")
        .expect("a test reads it")
});

/// The success that `sentence` claims; `marked` is the same sentence with the symbols before it.
pub(super) fn success(sentence: &str, marked: &str) -> Option<Success> {
    let sentence = sentence.to_lowercase();
    let sentence = FORMER.replace_all(&sentence, "$a");
    if is_question(&sentence) {
        return None;
    }
    if CHECK_MARK.is_match(&marked.to_lowercase()) && !READ[0].not.is_match(&sentence) {
        return Some(Success::Tests);
    }
    let clauses: Vec<&str> = clauses(&sentence).filter(|clause| !is_part(clause)).collect();
    let said = |read: &Read| clauses.iter().find_map(|clause| read.said(clause, &sentence));
    let counted = clauses.iter().find_map(|clause| counted(clause));
    counted.or_else(|| READ.iter().filter_map(said).min_by_key(|success| *success != Success::Tests))
}

impl Read {
    fn said(&self, clause: &str, sentence: &str) -> Option<Success> {
        // `No test fails` does not negate what follows.
        let plain = self.nothing_failed.replace_all(clause, " ");
        if self.not.is_match(&plain) {
            return None;
        }
        let is_alone = plain.trim_matches([' ', '.', '!', '。']).is_empty();
        let is_clean = self.nothing_failed.is_match(clause)
            && (is_alone || self.checks.is_match(sentence) || clause.contains(|c: char| c.is_ascii_digit()));
        if is_clean || self.passes.is_match(&plain) {
            return Some(Success::Tests);
        }
        self.works.is_match(&plain).then_some(Success::Work)
    }
}

/// A claim of success by numbers, symbols or the name of a test, in any language.
fn counted(clause: &str) -> Option<Success> {
    let all = ALL_OF.is_match(clause) && COUNTED.is_match(clause);
    let is_else = |clause: &str| READ.iter().any(|read| read.not.is_match(clause));
    let is_claimed = all || COVERED.is_match(clause) || TESTS_OK.is_match(clause);
    match () {
        () if is_claimed && !is_else(clause) => Some(Success::Tests),
        () if GONE.is_match(clause) && !is_else(&GONE.replace_all(clause, " ")) => Some(Success::Work),
        () => None,
    }
}

/// Whether a clause is about some of several: `11/12`.
pub(super) fn is_part(clause: &str) -> bool {
    ALL_OF.captures(clause).is_some_and(|counts| counts[1] != counts[2] || counts[1] == *"0")
}

fn is_question(sentence: &str) -> bool {
    let end = sentence.trim_end_matches([' ', '。', '.', '"', '”']);
    end.ends_with(['?', '？', '吗', '呢']) || end.ends_with('か') || sentence.starts_with('¿')
}

/// The parts of a sentence that can be claimed independently.
fn clauses(sentence: &str) -> impl Iterator<Item = &str> {
    let parts = sentence.split([',', '，', '、', ';', '；', ':', '：', '–', '—']);
    let parts = parts.flat_map(|part| part.split(" but ")).flat_map(|part| part.split(" aber "));
    parts.map(str::trim).filter(|part| !part.is_empty())
}
